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
from dsrs.exchange.log_names import LOG_DIMENSIONS, model_dimension
from dsrs.exchange.row import parsed
from dsrs.landscape.profile import fitted
from dsrs.store.profiles import Landscape

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


def logs_on_spheres(path: Path) -> list[Path]:
    """The logs that a path names: itself, or those in a folder; empty where it is neither."""
    if path.is_dir():
        return sorted(filter(is_landscape_name, path.iterdir()))
    return [path] if is_landscape_name(path) else []


def landscape_of_logs(paths: Iterable[Path]) -> Landscape:
    """The curve of every input of the fullest of these logs of one model.

    The dimension is that of the data set in the name of their folder.
    """
    logs = [(path, read_landscape_log(path)) for path in paths]
    log = fullest_log(logs)
    if log is None:
        raise DataError(f"{logs[0][0]} has no line yet")
    folder = logs[0][0].resolve().parent
    d = model_dimension(folder.name, {})
    if d is None:
        raise DataError(
            f"the folder of the logs must be named after a model with one of the data sets "
            f"{', '.join(LOG_DIMENSIONS)}, as cohen-mnist-380-1.00.pth is; got {folder.name!r}"
        )
    indices = np.unique(log.index)
    profiles, first_misses = [], []
    for index in indices:
        # Noise of norm 0 tells of no direction.
        own = (log.index == index) & (log.norm > 0)
        norm, hits = log.norm[own], np.rint(log.accuracy[own] * log.samples)
        profiles.append(fitted(np.log(norm), hits, np.full(len(norm), float(log.samples))))
        missed = norm[hits < log.samples]
        first_misses.append(float(missed.min()) if len(missed) else math.inf)
    return Landscape(
        d,
        tuple(indices.tolist()),
        tuple(profiles),
        tuple(first_misses),
        len(log.norm) * log.samples,
        float(log.norm.max()),
    )
