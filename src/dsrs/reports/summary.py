"""What a report knows of a run: one outcome for each input, and where it came from.

`RunSummary.from_results` takes any iterable of results with the attributes of `RunResult`, so the
report depends on records only, not on how they are stored.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.accuracy import proved_radius, status_of
from dsrs.errors import DataError
from dsrs.laws import GeneralizedGaussian
from dsrs.records import HISTOGRAM_BINS, Certificate
from dsrs.runs.result import RunResult
from dsrs.runs.spending import VotesSpent
from dsrs.votes import ESTIMATION, Votes

BASELINE = "np"
METHOD_NAMES = {
    "np": "Neyman-Pearson",
    "truncated": "DSRS truncated",
    "rescaled": "DSRS rescaled",
    "tailored": "tailored law",
}

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known of one input; its certificates are for the class `target`.

    `trials` and `hits` count all votes under P and those for `target`, by noise norm.
    """

    index: int
    label: int
    predicted: int | None
    target: int
    certificates: Mapping[str, Certificate]
    trials: tuple[int, ...] = ()
    hits: tuple[int, ...] = ()
    seconds: float = 0.0
    thumbnail: bytes | None = None

    @property
    def right(self) -> bool:
        """Whether the prediction is the label."""
        return self.predicted == self.label

    @property
    def for_label(self) -> bool:
        """Whether certificates are for the label; one that holds proves the prediction right."""
        return self.target == self.label

    @property
    def p_estimate(self) -> float | None:
        """Share of the votes under P for the certified class: an estimate of P_A, not a bound."""
        total = sum(self.trials)
        return sum(self.hits) / total if total else None

    def status(self, method: str) -> str:
        """certified, abstained or undecided; an input without a prediction is abstained."""
        return status_of(self.certificates.get(method))

    def radius(self, method: str) -> float:
        """The certified l2 radius; 0 where nothing is certified."""
        return max(proved_radius(self.certificates.get(method), True), 0.0)

    def gain(self, method: str) -> Fraction:
        """Radius of the method minus radius of the baseline, exactly."""
        return Fraction(self.radius(method)) - Fraction(self.radius(BASELINE))


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run: its noise law, its methods (baseline first) and its outcomes in input order."""

    name: str
    law: GeneralizedGaussian
    methods: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    family: str = ""
    data_fingerprint: str | None = None
    class_names: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    spent: VotesSpent | None = None  # by input, in the order of the outcomes; None: not known

    @classmethod
    def from_results(
        cls,
        name: str,
        results: Iterable[RunResult],
        *,
        family: str = "",
        data_fingerprint: str | None = None,
        class_names: Sequence[str] = (),
        settings: Mapping[str, Any] | None = None,
        spent: VotesSpent | None = None,
    ) -> RunSummary:
        """Read and check the results of one run."""
        outcomes = sorted((_outcome(name, seen) for seen in results), key=lambda one: one.index)
        if not outcomes:
            raise DataError(f"run {name!r} has no finished input yet; certify at least one first")
        for before, after in itertools.pairwise(outcomes):
            if before.index == after.index:
                raise DataError(f"run {name!r} holds input {after.index} twice")
        laws = {seen.law for one in outcomes for seen in one.certificates.values()}
        if len(laws) != 1:
            found = ", ".join(sorted(law.describe() for law in laws)) or "none"
            raise DataError(f"run {name!r} must have exactly one smoothing law, found {found}")
        return cls(
            name=name,
            law=laws.pop(),
            methods=_methods(name, outcomes),
            outcomes=tuple(outcomes),
            family=family,
            data_fingerprint=data_fingerprint,
            class_names=tuple(class_names),
            settings=settings or {},
            spent=spent,
        )

    @property
    def size(self) -> int:
        """Number of inputs."""
        return len(self.outcomes)

    @property
    def challengers(self) -> tuple[str, ...]:
        """The methods that are compared with the baseline."""
        return self.methods[1:] if self.methods[0] == BASELINE else ()

    def right(self) -> NDArray[np.bool_]:
        """Which predictions are right."""
        return np.array([one.right for one in self.outcomes])

    def has_status(self, method: str, status: str) -> NDArray[np.bool_]:
        """Which inputs ended so."""
        return np.array([one.status(method) == status for one in self.outcomes])

    def proved_radii(self, method: str) -> NDArray[np.float64]:
        """Radius of each input that is certified for its label; see `dsrs.accuracy`."""
        return np.array(
            [proved_radius(one.certificates.get(method), one.for_label) for one in self.outcomes]
        )

    def among(self, indices: Iterable[int]) -> RunSummary:
        """The same run, with these inputs only; what they cost is left out."""
        kept = frozenset(indices)
        outcomes = tuple(one for one in self.outcomes if one.index in kept)
        return replace(self, outcomes=outcomes, spent=None)


def method_name(method: str) -> str:
    """A method's name for people."""
    return METHOD_NAMES.get(method, method)


def _outcome(run: str, seen: RunResult) -> Outcome:
    where = f"run {run!r}, input {seen.index}"
    if seen.label is None:
        raise DataError(f"{where} has no label; certified accuracy needs the labels of all inputs")
    for method, certificate in seen.certificates.items():
        if not math.isfinite(certificate.radius):
            raise DataError(
                f"{where}: a report needs finite radii, but {method} certified "
                f"{certificate.radius}; a probability bound of exactly 1 cannot come from votes"
            )
    if seen.thumbnail is not None and not seen.thumbnail.startswith(PNG_SIGNATURE):
        raise DataError(f"{where}: expected a PNG thumbnail, got other bytes")
    trials, hits = _radial_counts(seen.votes)
    return Outcome(
        index=seen.index,
        label=seen.label,
        predicted=seen.predicted,
        target=seen.target,
        certificates=dict(seen.certificates),
        trials=trials,
        hits=hits,
        seconds=seen.seconds,
        thumbnail=seen.thumbnail,
    )


def _radial_counts(votes: Sequence[Votes]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Trials and hits of all estimation votes under P by noise norm."""
    trials = np.zeros(HISTOGRAM_BINS, dtype=np.int64)
    hits = np.zeros(HISTOGRAM_BINS, dtype=np.int64)
    for taken in votes:
        if taken.law is None and taken.purpose == ESTIMATION:
            trials += np.asarray(taken.trials, dtype=np.int64)
            hits += np.asarray(taken.hits, dtype=np.int64)
    if not trials.any():
        return (), ()
    return tuple(trials.tolist()), tuple(hits.tolist())


def _methods(run: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """All methods of the run: the baseline first, then the known ones, then by name."""
    found = {method for one in outcomes for method in one.certificates}
    for one in outcomes:
        missing = found - one.certificates.keys()
        if missing and one.predicted is not None:
            raise DataError(
                f"run {run!r}, input {one.index} has no certificate of {', '.join(sorted(missing))}"
                ", which other inputs of the run have; certify the run again"
            )
    order = [*METHOD_NAMES, *sorted(found - METHOD_NAMES.keys())]
    return tuple(method for method in order if method in found)
