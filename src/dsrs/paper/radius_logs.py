"""Reader of the recorded radii of the original experiments.

    DIR/orig-radius/MODEL.pth/orig-rad-LAW-K-SIGMA-N-ALPHA.txt             P alone
    DIR/new-radius/MODEL.pth/new-rad-LAW[-th]-K-SIGMA-RULE-N-ALPHA.txt     P and Q; -th: truncated

Their lines start with `index radius`; a later line of an input counts. Some runs have only this:
their radii can be shown, but not certified again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dsrs.errors import DataError
from dsrs.laws import GeneralizedGaussian
from dsrs.paper.recorded import DIMENSIONS, Floats, RecordedRadii, RunName, dataset_of

NUMBER = r"\d+(?:\.\d+)?(?:e-?\d+)?"
RULE = rf"{NUMBER}|x|x\+|x2"
_LAW = rf"(?P<law>gaussian|general-gaussian)(?P<th>-th)?-(?P<k>None|\d+)-(?P<sigma>{NUMBER})"
_NAMES = {
    "orig-radius": re.compile(rf"orig-rad-{_LAW}-(?P<n>\d+)-(?P<alpha>{NUMBER})\.txt"),
    "new-radius": re.compile(
        rf"new-rad-{_LAW}-(?P<rule>{RULE})-(?P<n>\d+)-(?P<alpha>{NUMBER})\.txt"
    ),
}


@dataclass(frozen=True, slots=True)
class RadiusLogs:
    """Every run whose radii were recorded, by name; files as in `LogFolder`."""

    runs: dict[RunName, RecordedRadii]
    broken: list[tuple[Path, str]]
    left_out: list[tuple[Path, str]]

    def of(self, name: RunName, index: Sequence[int]) -> Floats:
        """Recorded radii of these inputs; NaN where there is none."""
        found = self.runs.get(name)
        if found is None:
            return np.full(len(index), np.nan)
        radii = dict(zip(found.index.tolist(), found.recorded_radius.tolist(), strict=True))
        return np.array([radii.get(i, np.nan) for i in index])


def read_radius_logs(folder: Path) -> RadiusLogs:
    """The radii under `folder/orig-radius` and `folder/new-radius`; either may be missing."""
    logs = RadiusLogs({}, [], [])
    for kind, pattern in _NAMES.items():
        for path in sorted((folder / kind).glob("*.pth/*.txt")):
            if path.name.startswith("time-"):
                continue
            named = pattern.fullmatch(path.name)
            try:
                dataset = dataset_of(path.parent.name.removesuffix(".pth"))
            except DataError as error:
                logs.left_out.append((path, str(error)))
                continue
            if not named:
                logs.left_out.append((path, "radii of another norm, or of a rule not known here"))
                continue
            try:
                radii = read_radii(path)
            except DataError as error:
                logs.broken.append((path, str(error)))
                continue
            if radii:
                name = _run_name(path, named, DIMENSIONS[dataset])
                logs.runs[name] = RecordedRadii(
                    name, np.array(list(radii), dtype=np.int64), np.array(list(radii.values()))
                )
    return logs


def read_radii(path: Path) -> dict[int, float]:
    """`index radius ...` lines by input, in the order of their indices."""
    radii = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        words = line.split()
        if not words:
            continue
        try:
            index, radius = int(words[0]), float(words[1])
            if not (math.isfinite(radius) and radius >= 0):
                raise ValueError
        except (ValueError, IndexError):
            raise DataError(
                f"{path.name}, line {number}: expected `index radius`, got {line!r}"
            ) from None
        radii[index] = radius
    return dict(sorted(radii.items()))


def k_of(law: str, k: str) -> float:
    """The exponent in a log's name, which a Gaussian does not have (some names give it one)."""
    return 0.0 if law == "gaussian" or k == "None" else float(k)


def _run_name(path: Path, named: re.Match[str], d: int) -> RunName:
    law = GeneralizedGaussian(d, float(named["sigma"]), k_of(named["law"], named["k"]))
    model = path.parent.name.removesuffix(".pth")
    alone = RunName(model, law, int(named["n"]), float(named["alpha"]))
    if "rule" not in named.groupdict():
        return alone
    if named["th"]:
        return RunName(model, law, alone.n, alone.alpha, "truncated", named["rule"])
    return RunName(model, law, alone.n, alone.alpha, "rescaled", str(float(named["rule"])))
