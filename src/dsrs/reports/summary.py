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

from dsrs.errors import DataError
from dsrs.files import Readable
from dsrs.laws import HISTOGRAM_BINS, GeneralizedGaussian, short_law_text
from dsrs.measures import NO_CERTIFICATE, floor_text, proved_radius
from dsrs.methods import NEYMAN_PEARSON, known_names, title_of
from dsrs.proofs import AttackedInput, Certificate, Interval, visible_flaw
from dsrs.store import RunResult, VotesSpent
from dsrs.votes import ESTIMATION, Votes

BASELINE = NEYMAN_PEARSON

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one method says of one input: a certificate without its proof, or a row of a table.

    `q` and `law` are the interval and the short text of its additional law.
    """

    status: str
    radius: float
    p: Interval | None = None
    q: Interval | None = None
    law: str | None = None

    @classmethod
    def of_certificate(cls, certificate: Certificate) -> Answer:
        if not certificate.observations:
            return cls(certificate.status, certificate.radius, certificate.known_of_p)
        seen = certificate.observations[0]
        return cls(
            certificate.status,
            certificate.radius,
            certificate.known_of_p,
            seen.interval,
            seen.law.short_text,
        )


@dataclass(frozen=True, slots=True, repr=False)
class Outcome(Readable):
    """What is known of one input; its answers are for the class `target`.

    Without a label the class that was predicted stands for it. `trials` and `hits` count all votes
    under P and those for `target`, by noise norm. `undefended` is the class that the model gives
    without noise, where it is known.
    """

    index: int
    label: int | None
    predicted: int | None
    target: int | None
    answers: Mapping[str, Answer]
    trials: tuple[int, ...] = ()
    hits: tuple[int, ...] = ()
    seconds: float = 0.0
    thumbnail: bytes | None = None
    undefended: int | None = None

    def facts(self) -> dict[str, object]:
        """What a person wants to know first."""
        answers = {
            name: f"{answer.status}, radius {floor_text(answer.radius, 6)}"
            for name, answer in self.answers.items()
        }
        return {"input": self.index, "label": self.label, "class": self.target, **answers}

    @property
    def right(self) -> bool:
        """Whether the prediction is the label, where there is one."""
        return self.label is None or self.predicted == self.label

    @property
    def for_label(self) -> bool:
        """Whether certificates are for the label; one that holds proves the prediction right."""
        return self.label is None or self.target == self.label

    @property
    def p_estimate(self) -> float | None:
        """Share of the votes under P for the certified class: an estimate of P_A, not a bound."""
        total = sum(self.trials)
        return sum(self.hits) / total if total else None

    def status(self, method: str) -> str:
        """certified, abstained or undecided; an input without a prediction is abstained."""
        answer = self.answers.get(method)
        return NO_CERTIFICATE if answer is None else answer.status

    def radius(self, method: str) -> float:
        """The certified radius (l2); 0 where nothing is certified."""
        return max(self.proved_radius(method, for_label=True), 0.0)

    def proved_radius(self, method: str, for_label: bool | None = None) -> float:
        """The radius that counts (see `dsrs.measures`), by default only if it is for the label."""
        answer = self.answers.get(method) or Answer(NO_CERTIFICATE, 0.0)
        for_label = self.for_label if for_label is None else for_label
        return proved_radius(answer.status, answer.radius, for_label)

    def gain(self, method: str) -> Fraction:
        """Radius of the method minus radius of the baseline, exactly."""
        return Fraction(self.radius(method)) - Fraction(self.radius(BASELINE))


@dataclass(frozen=True, slots=True, repr=False)
class RunSummary(Readable):
    """One run: its noise law, its methods (baseline first) and its outcomes in input order.

    The law is None for a table that does not say it.
    """

    name: str
    law: GeneralizedGaussian | None
    methods: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    family: str | None = ""  # those that have an envelope together; None: none
    data_fingerprint: str | None = None
    class_names: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    attacks: Mapping[int, AttackedInput] = field(default_factory=dict)  # by index of the input
    spent: VotesSpent | None = None  # by input, in the order of the outcomes; None: not known

    def facts(self) -> dict[str, object]:
        """What a person wants to know first."""
        return {
            "name": self.name,
            "inputs": len(self.outcomes),
            "methods": ", ".join(self.methods),
            "noise": None if self.law is None else self.law.describe(),
            "family": self.family or None,
        }

    @classmethod
    def from_results(cls, name: str, results: Iterable[RunResult], **about: Any) -> RunSummary:
        """Read and check the results of one run; `about` are further fields of the summary."""
        seen = list(results)
        laws = {certificate.law for result in seen for certificate in result.certificates.values()}
        if seen and not laws:
            raise DataError(f"run {name!r} must have exactly one smoothing law, found none")
        return cls.from_outcomes(name, [_outcome(name, result) for result in seen], laws, **about)

    @classmethod
    def from_outcomes(
        cls,
        name: str,
        outcomes: Iterable[Outcome],
        laws: Iterable[GeneralizedGaussian],
        **about: Any,
    ) -> RunSummary:
        """Check the outcomes of one run; `laws` are those of its answers, as far as known."""
        ordered, known = sorted(outcomes, key=lambda outcome: outcome.index), set(laws)
        if not ordered:
            raise DataError(f"run {name!r} has no finished input yet; certify at least one first")
        for before, after in itertools.pairwise(ordered):
            if before.index == after.index:
                raise DataError(f"run {name!r} holds input {after.index} twice")
        if len(known) > 1:
            texts = ", ".join(sorted(law.describe() for law in known))
            raise DataError(f"run {name!r} must have exactly one smoothing law, found {texts}")
        unlabelled = [outcome.index for outcome in ordered if outcome.label is None]
        if 0 < len(unlabelled) < len(ordered):
            raise DataError(
                f"run {name!r} must have labels for all inputs or for none; input {unlabelled[0]} "
                "has none"
            )
        for outcome in ordered:
            for method, answer in outcome.answers.items():
                if not math.isfinite(answer.radius):
                    raise DataError(
                        f"run {name!r}, input {outcome.index}: a report needs finite radii, but "
                        f"{method} certified {answer.radius}; a probability bound of exactly 1 "
                        "cannot come from votes"
                    )
        law = next(iter(known), None)
        return cls(name, law, _methods(name, ordered), tuple(ordered), **about)

    @property
    def labelled(self) -> bool:
        """Whether the inputs have labels."""
        return self.outcomes[0].label is not None

    @property
    def has_clean_accuracy(self) -> bool:
        """Whether predictions can be compared with labels."""
        return self.labelled and any(outcome.predicted is not None for outcome in self.outcomes)

    @property
    def undefended_accuracy(self) -> Fraction | None:
        """How often the model without noise is right; None where that is not known of all inputs.

        Nothing is guaranteed of these answers.
        """
        known = [(one.undefended, one.label) for one in self.outcomes]
        if any(None in pair for pair in known):
            return None
        return Fraction(sum(answer == label for answer, label in known), len(known))

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
        return np.array([outcome.right for outcome in self.outcomes])

    def has_status(self, method: str, status: str) -> NDArray[np.bool_]:
        """Which inputs ended so."""
        return np.array([outcome.status(method) == status for outcome in self.outcomes])

    def proved_radii(self, method: str) -> NDArray[np.float64]:
        """Radius of each input that is certified for its label; see `dsrs.measures`."""
        return np.array([outcome.proved_radius(method) for outcome in self.outcomes])

    def among(self, indices: Iterable[int]) -> RunSummary:
        """The same run, with these inputs only; what they cost is left out."""
        kept = frozenset(indices)
        outcomes = tuple(outcome for outcome in self.outcomes if outcome.index in kept)
        attacks = {index: attack for index, attack in self.attacks.items() if index in kept}
        return replace(self, outcomes=outcomes, spent=None, attacks=attacks)


def method_name(method: str) -> str:
    """A method's name for people."""
    return title_of(method) or short_law_text(method)


def _outcome(run: str, seen: RunResult) -> Outcome:
    where = f"run {run!r}, input {seen.index}"
    if seen.thumbnail is not None and not seen.thumbnail.startswith(PNG_SIGNATURE):
        raise DataError(f"{where}: expected a PNG thumbnail, got other bytes")
    for method, one in seen.certificates.items():
        flaw = visible_flaw(one.status, one.radius, one.proof, one.moved)
        if flaw is not None:
            raise DataError(f"{where}, {method}: {flaw}")
    trials, hits = _radial_counts(seen.votes)
    return Outcome(
        index=seen.index,
        label=seen.label,
        predicted=seen.predicted,
        target=seen.target,
        answers={
            method: Answer.of_certificate(certificate)
            for method, certificate in seen.certificates.items()
        },
        trials=trials,
        hits=hits,
        seconds=seen.seconds,
        thumbnail=seen.thumbnail,
        undefended=seen.sampled.undefended,
    )


def _radial_counts(votes: Sequence[Votes]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Trials and hits by noise norm of the votes under P: those that certify, if there are any."""
    trials = np.zeros(HISTOGRAM_BINS, dtype=np.int64)
    hits = np.zeros(HISTOGRAM_BINS, dtype=np.int64)
    under_p = [taken for taken in votes if taken.stream.additional is None]
    certifying = [taken for taken in under_p if taken.stream.purpose == ESTIMATION]
    for taken in certifying or under_p:
        trials += np.asarray(taken.trials, dtype=np.int64)
        hits += np.asarray(taken.hits, dtype=np.int64)
    if not trials.any():
        return (), ()
    return tuple(trials.tolist()), tuple(hits.tolist())


def _methods(run: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """All methods of the run: the baseline first, then the known ones, then by name."""
    present = {method for outcome in outcomes for method in outcome.answers}
    for outcome in outcomes:
        missing = present - outcome.answers.keys()
        if missing and outcome.predicted is not None:
            raise DataError(
                f"run {run!r}, input {outcome.index} has no certificate of "
                f"{', '.join(sorted(missing))}, which other inputs of the run have; certify "
                "the run again"
            )
    known = known_names()
    order = [*known, *sorted(present - set(known))]
    return tuple(method for method in order if method in present)
