"""What comes before the first certificate: imports, help, interpreting and compiling.

    python benchmarks/startup.py

Everything runs in fresh interpreters with an empty cache. Processor time, which other programs
disturb least, beside wall time.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from dsrs.cli import table

REPEATS = 5
RADIUS = ("-m", "dsrs", "radius", "--d", "784", "--k", "380", "--sigma", "0.5", "--p", "0.95",
          "0.96", "--q-interval", "0.99", "0.995", "--q")  # fmt: skip


class Seconds(NamedTuple):
    wall: float
    processor: float


def run(words: tuple[str, ...], **environment: str) -> Seconds:
    """A fresh interpreter; the best of each time."""
    best = Seconds(float("inf"), float("inf"))
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as empty:
            given = os.environ | {"DSRS_CACHE_DIR": empty, "DSRS_KERNELS": "auto"} | environment
            before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run([sys.executable, *words], check=True, capture_output=True, env=given)
            wall = time.perf_counter() - began
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        best = Seconds(min(best.wall, wall), min(best.processor, spent))
    return best


def main() -> None:
    numpy = run(("-c", "import numpy"))
    rows = [
        ("import numpy", numpy),
        ("import dsrs", run(("-c", "import dsrs"))),
        ("dsrs --help", run(("-m", "dsrs", "--help"))),
        ("dsrs certify --help", run(("-m", "dsrs", "certify", "--help"))),
        ("dsrs radius, truncated", run((*RADIUS, "truncated:0.6"))),
        ("dsrs radius, rescaled", run((*RADIUS, "rescaled:0.4"))),
    ]
    heads = ["fresh interpreter, empty cache", "wall, s", "processor, s", "imports of NumPy"]
    print(
        table(
            [
                (name, f"{spent.wall:.2f}", f"{spent.processor:.2f}",
                 f"{spent.processor / numpy.processor:.1f}")
                for name, spent in rows
            ],
            heads,
        )
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"DSRS_CACHE_DIR": folder}
        times = []
        for words in (("-m", "dsrs.proofs.compiling"), (*RADIUS, "rescaled:0.4")):
            before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            given = environment | {"DSRS_KERNELS": "compiled"}
            subprocess.run([sys.executable, *words], check=True, capture_output=True, env=given)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
            times.append(Seconds(time.perf_counter() - began, spent))
    compiling, loading = times
    print(
        f"\ncompiling all kernels, once a version: {compiling.wall:.0f} s, "
        f"{compiling.processor:.0f} s of processor time; `dsrs radius` with them: "
        f"{loading.wall:.2f} s, {loading.processor:.2f} s"
    )


if __name__ == "__main__":
    main()
