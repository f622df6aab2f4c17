"""examples/routing.py: routing pays where one noise serves small radii or large ones, not both."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NAMES = ("noise 0.12", "noise 1", "routed")
EXAMPLE = Path(__file__).parents[2] / "examples" / "routing.py"


def test_the_routed_classifier_has_the_best_of_both_noises(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLE], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    table = {line[:20].strip(): line[20:].split() for line in lines if line[:20].strip() in NAMES}
    means = [float(line.split()[2].rstrip(",")) for line in lines if "mean radius" in line]
    small, large, routed = ([float(cell) for cell in table[name]] for name in table)
    assert head.split()[2:] == ["r=0", "r=0.1", "r=0.2", "r=0.5", "r=1"]
    assert routed[0] == small[0] == 1 > large[0]
    assert routed[-1] == large[-1] > small[-1] == 0
    assert means[2] > max(means[:2])
