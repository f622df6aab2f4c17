"""`dsrs certify` on images of which only the first pixel matters."""

from __future__ import annotations

from dsrs.cli.main import main

SIGMA = 0.5
# The first pixel of each image; linear_model:first_pixel answers 1 above 0.2.
FIRST = (0.9, 0.7, 0.5, 0.0)
FORGED = 1  # the input whose radius `forged` doubles


def certify(*words: str, output: str = "run") -> None:
    arguments = ["certify", "--model", "linear_model:first_pixel", "--data", "data.npz"]
    arguments += ["--sigma", str(SIGMA), "--q", "none", "--n", "2048", "--output", output]
    assert main([*arguments, "--quiet", *words]) == 0
