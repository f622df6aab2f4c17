"""The recorded runs of the original experiments, as one record for every source.

A run is one model under one law P, with or without one family of additional laws Q. Its columns
hold one number for each test input. The intervals are for the true class of the input, so an
input that the smoothed classifier gets wrong has P- below 1/2 and no radius.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.duality import prepare
from dsrs.errors import DataError, InfeasibleBox
from dsrs.laws import GeneralizedGaussian, additional_law
from dsrs.proofs import Certificate, Interval, Observation, certify

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The recorded names of the paper's data sets and training methods.
RECORDED_DATASETS = {"mnist": "mnist", "cifar": "cifar10", "imagenet": "imagenet"}
RECORDED_DIMENSIONS = {"mnist": 784, "cifar10": 3072, "imagenet": 150_528}
RECORDED_TRAININGS = {"cohen": "gaussian", "consistency": "consistency", "smoothmix": "smoothmix"}


@dataclass(frozen=True, slots=True)
class RunName:
    """What tells one recorded run from another.

    `n` is the number of votes under Q, or under P if it is alone. `q_shape` is None for a run
    under P alone; `rule` says how the value of Q was chosen: a number, or the name of a heuristic
    (`x`: docs/differences.md; `x+`: the same, sampling P again when all votes agree; `x2`: P-
    minus 0.1, at least 0.4).
    """

    model: str
    law: GeneralizedGaussian
    n: int
    alpha: float
    q_shape: str | None = None
    rule: str | None = None

    @property
    def text(self) -> str:
        """For messages: model, law, votes and Q."""
        law = f"k {self.law.k:g}, sigma {self.law.sigma:g}, n {self.n:,}, alpha {self.alpha:g}"
        q = "P alone" if self.q_shape is None else f"{self.q_shape} {self.rule}"
        return f"{self.model} ({law}, {q})"

    @property
    def dataset(self) -> str:
        return dataset_of(self.model)

    @property
    def training(self) -> str:
        """`gaussian`, `consistency`, `smoothmix`, or the recorded word itself."""
        word = self.model.partition("-")[0]
        return RECORDED_TRAININGS.get(word, word)


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The intervals of one run, and the radii then recorded (NaN where there is none).

    A row with `fallback` was sampled twice under P: its interval of P_A is that of all votes
    together, and its `q_value`, `q_lower` and `q_upper` are NaN. `notes` are of inputs whose record
    was not taken as it stands, by index.
    """

    name: RunName
    index: Ints
    p_lower: Floats
    p_upper: Floats
    recorded_radius: Floats
    q_value: Floats | None = None
    q_lower: Floats | None = None
    q_upper: Floats | None = None
    fallback: NDArray[np.bool_] | None = None
    notes: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.index)

    def every(self, stride: int) -> RecordedRun:
        """One input in `stride`."""
        columns = {one.name: getattr(self, one.name) for one in fields(self)}
        thinned: dict[str, Any] = {
            name: column[::stride]
            for name, column in columns.items()
            if isinstance(column, np.ndarray)
        }
        return replace(self, **thinned)


@dataclass(frozen=True, slots=True)
class RecordedRadii:
    """A run of which only the radii were recorded, not the intervals: nothing to certify from."""

    name: RunName
    index: Ints
    recorded_radius: Floats

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True, slots=True)
class AccuracyByNorm:
    """Accuracy of one model on spheres of noise around its inputs, one row a sphere."""

    model: str
    law: GeneralizedGaussian
    index: Ints
    noise_norm: Floats
    accuracy: Floats


def dataset_of(model: str) -> str:
    """The data set in a recorded model name such as `cohen-cifar-1530-0.50`."""
    for word in model.split("-"):
        if word in RECORDED_DATASETS:
            return RECORDED_DATASETS[word]
    raise DataError(
        f"the model name must hold one of {', '.join(RECORDED_DATASETS)} between dashes, "
        f"got {model!r}"
    )


def recertified_radii(run: RecordedRun, advance: Callable[[], None] = lambda: None) -> Floats:
    """The radius of every input of `run`; 0 where nothing can be proved.

    `advance` is called after each input.
    """
    prepare(len(run))
    radii = np.empty(len(run))
    # Threads: the solver works outside the interpreter's lock.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for row, found in enumerate(pool.map(partial(recertify, run), range(len(run)))):
            radii[row] = found.radius
            advance()
    return radii


def recertify(run: RecordedRun, row: int) -> Certificate:
    """The certificate of one recorded input.

    A row whose P was sampled anew after Q (its log was overwritten) may hold intervals that no
    classifier has; then Q belongs to another run, and P alone is used.
    """
    law = run.name.law
    p = Interval(float(run.p_lower[row]), float(run.p_upper[row]))
    if run.q_value is None or run.q_lower is None or run.q_upper is None:
        return certify(law, p)
    if np.isnan(run.q_value[row]):
        return certify(law, p)
    additional = additional_law(run.name.q_shape or "", float(run.q_value[row]), law)
    q = Interval(float(run.q_lower[row]), float(run.q_upper[row]))
    try:
        return certify(law, p, Observation(additional, q))
    except InfeasibleBox:
        return certify(law, p)
