"""The DSRS scripts' logs of accuracy on spheres of noise.

    landscape_sampling/MODEL.pth/FROM-TO-STEPS-SAMPLES.txt

has one line `o index norm accuracy` for each input and sphere: the share of SAMPLES noise vectors
of this norm, in uniform directions, whose answer was the label. Inputs that were wrong without
noise were left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import DataError
from dsrs.exchange.dsrs_logs import log_lines
from dsrs.exchange.row import parsed

LANDSCAPES = "landscape_sampling"
_NAME = re.compile(r"[\d.]+-(?P<stop>[\d.]+)-\d+-(?P<samples>\d+)\.txt(?:\.gz)?")


@dataclass(frozen=True, slots=True)
class LandscapeLog:
    """The lines of one log, as columns; `samples` votes stand behind each."""

    samples: int
    largest_norm: float
    index: NDArray[np.int64]
    norm: NDArray[np.float64]
    accuracy: NDArray[np.float64]

    @property
    def inputs(self) -> int:
        """How many inputs the log has."""
        return len(np.unique(self.index))


def is_landscape_name(path: Path) -> bool:
    """Whether a file of this name is such a log."""
    return _NAME.fullmatch(path.name) is not None


def read_landscape_log(path: Path) -> LandscapeLog:
    """A log; one without lines has no inputs."""
    match = _NAME.fullmatch(path.name)
    if match is None:
        raise DataError(
            f"expected a name FROM-TO-STEPS-SAMPLES.txt, such as 0.0-80.0-50-1000.txt, got "
            f"{path.name!r}; the name alone tells how many votes a line stands for"
        )
    indices, norms, shares = [], [], []
    for where, words in log_lines(path):
        if words[0] == "x":
            continue
        if words[0] != "o" or len(words) != 4:
            raise DataError(f"{where}: expected `o index norm accuracy`, got {' '.join(words)!r}")
        norm = parsed(words[2], float, "norm", where)
        accuracy = parsed(words[3], float, "accuracy", where)
        if not (0 <= norm < math.inf and 0 <= accuracy <= 1):
            raise DataError(
                f"{where}: expected a norm >= 0 and an accuracy in [0, 1], got {norm!r}, "
                f"{accuracy!r}"
            )
        indices.append(parsed(words[1], int, "index", where))
        norms.append(norm)
        shares.append(accuracy)
    return LandscapeLog(
        int(match["samples"]),
        float(match["stop"]),
        np.array(indices, dtype=np.int64),
        np.array(norms),
        np.array(shares),
    )


def fullest_log(logs: Iterable[tuple[Path, LandscapeLog]]) -> LandscapeLog | None:
    """The log with the most inputs x votes, of equal ones that which reaches furthest."""
    ranked = [
        (log.inputs * log.samples, log.largest_norm, path.name, log)
        for path, log in logs
        if log.inputs
    ]
    return max(ranked, key=lambda one: one[:3])[3] if ranked else None
