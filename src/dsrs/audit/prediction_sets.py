"""Prediction sets checked: the level from its proof, the rank from the level, the threshold from
the scores (docs/conformal.md).

For any l > 0, Pr[y in C(x + delta + e)] >= l beta - l + I(l), I(l) the integral of
min(l p(e), p(e - delta)), which falls with |delta| as p falls with |e|. So clean coverage of
`level` on average leaves `coverage` of one set where

    level >= 1 - (I(l) - coverage - v) / l + v,

v what sampled noise on a grid may differ from the law's. The majority of several sets covers with
1 - a if each does with 1 - a/2. Calibration scores are taken as given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dsrs.audit.balls import arb, exact, precision
from dsrs.audit.bound import enclosed_bound
from dsrs.audit.claims import LARGEST_SEED, OnGrid, SmoothingLaw
from dsrs.audit.counts import Answer, lower_holds
from dsrs.audit.gaussian import gaussian_bound
from dsrs.audit.grid_charge import variation
from dsrs.audit.kinds.steps import LARGEST_MULTIPLIER
from dsrs.audit.limits import PROCESSOR_SECONDS, Budget, verdict_within
from dsrs.audit.mixture import Mixture
from dsrs.audit.reading import (
    Fields,
    choice,
    field,
    number,
    numbers,
    only,
    optional,
    optional_number,
    shown,
    whole,
)
from dsrs.audit.shells import Shells
from dsrs.audit.verdicts import NotACertificate, Refuted, Undecided, Verdict
from dsrs.audit.weights import smoothing_law

SETS_KIND, SETS_FORMAT = "prediction sets", 1
LARGEST_COUNT = 10**9  # inputs, draws, classes
MOST_AXES = 64  # of an input
SETS_FIELDS = (
    *("kind", "format", "guarantee", "coverage", "radius", "law", "level", "proof", "threshold"),
    *("score", "outputs", "batch", "draws", "confidence", "grid", "calibration", "model"),
)
IN_CALIBRATION = (
    *("inputs", "draws", "scores", "rank", "seed", "data", "data_fingerprint", "indices"),
)
IN_MODEL = (
    *("fingerprint", "description", "input_shape", "bounds", "num_classes", "device", "probes"),
)


def is_of_sets(fields: Any) -> bool:
    """Whether a JSON value says that it holds prediction sets."""
    return isinstance(fields, Mapping) and fields.get("kind") == SETS_KIND


def check_sets(fields: Fields, name: str = "", seconds: float = PROCESSOR_SECONDS) -> Verdict:
    """The verdict on a file of prediction sets.

    Args:
        fields: the file as JSON.
        name: what to call it in the verdict.
        seconds: processor seconds after which it is undecided.
    """
    claim: _Claim | None = None

    def verdict() -> Verdict:
        nonlocal claim
        claim = _Claim.read(fields)
        surplus = claim.check()
        return Verdict(name, "abstained" if claim.says_nothing else "verified", surplus=surplus)

    return replace(
        verdict_within(seconds, name, "these are not prediction sets", verdict),
        radius=None if claim is None else claim.radius,
        subject=None if claim is None else {"model": claim.model, "coverage": claim.coverage},
        steps=1,
    )


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a file of prediction sets says, where it bears on what is promised."""

    coverage: float
    radius: float
    law: SmoothingLaw
    level: float
    proof: tuple[float, float, float]  # radius, multiplier, overlap
    threshold: float
    draws: int
    confidence: float | None
    grid: OnGrid | None
    inputs: int
    calibration_draws: int
    rank: int
    scores: tuple[float, ...]
    model: str

    @classmethod
    def read(cls, fields: Any) -> _Claim:
        only(fields, SETS_FIELDS, "a file of prediction sets")
        if field(fields, "format", object) != SETS_FORMAT:
            raise Undecided(f"this check does not know the format {shown(fields['format'])}")
        proof = field(fields, "proof", dict)
        only(proof, ("radius", "multiplier", "overlap"), "the proof")
        counted = field(fields, "calibration", dict)
        only(counted, IN_CALIBRATION, "the calibration")
        law = SmoothingLaw.read(field(fields, "law", dict))
        if law.norm != "l2":
            raise Undecided(f"this check does not know sets for noise that is round in {law.norm}")
        _read_words(fields, law)
        grid = optional(fields, "grid", dict)
        if grid is not None:
            number(grid, "origin")
        claim = cls(
            number(fields, "coverage"),
            number(fields, "radius"),
            law,
            number(fields, "level"),
            (number(proof, "radius"), number(proof, "multiplier"), number(proof, "overlap")),
            number(fields, "threshold", infinite=True),
            whole(fields, "draws", 1, LARGEST_COUNT),
            optional_number(fields, "confidence"),
            None if grid is None else OnGrid.read(grid, "aside"),
            whole(counted, "inputs", 1, LARGEST_COUNT),
            whole(counted, "draws", 1, LARGEST_COUNT),
            whole(counted, "rank", 0, LARGEST_COUNT),
            numbers(field(counted, "scores", list), "scores"),
            field(field(fields, "model", dict), "fingerprint", str),
        )
        claim.check_words(fields, counted)
        return claim

    @property
    def says_nothing(self) -> bool:
        """Whether its sets hold all classes."""
        return self.threshold == math.inf

    def check_words(self, fields: Fields, counted: Fields) -> None:
        """Raise Refuted where numbers are out of range or contradict each other."""
        chance = self.confidence is None or 0 < self.confidence < 1
        if not (0 < self.coverage < 1 and self.radius >= 0 and 0 <= self.level <= 1 and chance):
            raise Refuted("coverage, radius, level or confidence is out of its range")
        indices = field(counted, "indices", list)
        if not all(type(i) is int and i >= 0 for i in indices):
            raise NotACertificate("`indices` must be whole numbers")
        if len(set(indices)) != self.inputs or len(indices) != self.inputs:
            raise Refuted("its calibration inputs are not as many different ones as it says")
        if len(self.scores) != self.inputs * self.calibration_draws:
            raise Refuted("there is not one score for each calibration input and draw")
        if field(fields, "guarantee", str) != self.guarantee():
            raise Refuted("the sentence that it promises is not what its numbers say")

    def guarantee(self) -> str:
        """The sentence that these numbers make."""
        text = (
            "the set of a new input holds its true class with probability "
            f"{float(self.coverage)!r} or more"
        )
        if self.radius:
            text += f", although the input may have been moved by up to {float(self.radius)!r} (l2)"
        if self.confidence is None:
            text += "; it holds on average over inputs, calibration sets and noise, "
            return text + "not for each single input"
        text += "; it holds on average over inputs and noise, not for each single input, and for "
        return (
            f"{text}this calibration set except if it is one of an unlucky "
            f"{100 * (1 - self.confidence):g}%"
        )

    def check(self) -> float | None:
        """Raise unless everything follows; by how much the overlap exceeds what it claims."""
        due = math.inf if self.rank > len(self.scores) else -math.inf
        if 0 < self.rank <= len(self.scores):
            due = sorted(self.scores)[self.rank - 1]
        if self.threshold < due:
            raise Refuted(
                f"the threshold is {self.threshold!r}, below the score of rank {self.rank}, {due!r}"
            )
        if self.says_nothing:
            return None
        self._check_rank()
        self._check_level()
        multiplier = self.proof[1]
        if not 0 < multiplier <= LARGEST_MULTIPLIER:
            raise Refuted(f"the multiplier is {multiplier!r}")
        with precision(max(0, math.ceil(math.log2(multiplier)))):
            shells = self.law.shells()
            self._check_grid(shells)
            return self._check_overlap(shells)

    def _check_rank(self) -> None:
        """The rank follows from the level, on average or with confidence."""
        level, draws = Fraction(self.level), self.calibration_draws
        if self.confidence is None:
            if self.rank < draws * (self.inputs + 1) * level:
                raise Refuted(f"rank {self.rank} is too low for clean coverage {self.level!r}")
            return
        eta = 1 - Fraction(self.confidence)
        if draws == 1:
            answer = lower_holds(self.level, self.rank, self.inputs, eta)
        else:
            answer = _hoeffding_holds(self.level, Fraction(self.rank, draws), self.inputs, eta)
        if answer != "yes":
            word = Refuted if answer == "no" else Undecided
            raise word(f"rank {self.rank} does not hold with confidence {self.confidence!r}")

    def _check_level(self) -> None:
        """The level follows from the overlap, and the proof is for shifts as long as promised."""
        radius, multiplier, overlap = map(Fraction, self.proof)
        grid = self.grid
        stray, aside = (Fraction(0),) * 2
        if grid is not None:
            stray, aside = Fraction(grid.variation), Fraction(grid.moved)
        if radius < Fraction(self.radius) + 2 * aside:
            raise Refuted("the proof is for shorter shifts than what is promised and the grid take")
        if multiplier <= 0:
            raise Refuted("the multiplier is not positive")
        one = Fraction(self.coverage)
        if self.draws > 1:
            one = (1 + one) / 2
        least = 1 - (overlap - one - stray) / multiplier + stray
        if Fraction(self.level) < least:
            raise Refuted(f"the level {self.level!r} must be at least {float(least)!r}")

    def _check_grid(self, shells: Shells) -> None:
        """Noise on the grid is charged."""
        if self.grid is None:
            return
        least = variation(shells, None, self.grid.step)
        if exact(self.grid.variation) < least:
            raise Refuted(
                f"noise on the grid is charged {self.grid.variation!r}, below {float(least)!r}"
            )

    def _check_overlap(self, shells: Shells) -> float:
        """The overlap is at most I(l)."""
        radius, multiplier, overlap = self.proof
        if radius == 0:
            value = exact(min(multiplier, 1.0))
        elif shells.gaussian:
            value = gaussian_bound(1.0, multiplier, exact(radius) / shells.sigma)
        else:
            mixture = Mixture(shells, (multiplier,), (smoothing_law(),))
            value = enclosed_bound(mixture, [(1.0, 1.0)], radius, Budget()).value
        said = f"the overlap at multiplier {multiplier!r} and shift {radius!r}"
        if value < exact(overlap):
            raise Refuted(f"{said} is at most {float(value.upper())!r}, not {overlap!r}")
        if not value >= exact(overlap):
            raise Undecided(f"{said} is said to be {overlap!r}, and only known to be {value}")
        return float((value.lower() - exact(overlap)).lower())


def _hoeffding_holds(level: float, hits: Fraction, inputs: int, eta: Fraction) -> Answer:
    """Whether exp(-n KL(hits / n, level)) <= eta: means of [0, 1] variables (Hoeffding 1963)."""
    share = hits / inputs
    if share > 1:
        return "yes"
    if share <= Fraction(level) or level == 0:
        return "no" if level else "yes"
    with precision(64):
        p, q = exact(level), exact(share)
        exponent = q * (q / p).log()
        if share < 1:
            exponent += (1 - q) * ((1 - q) / (1 - p)).log()
        needed = -exact(eta).log()
        total: arb = inputs * exponent
        return "yes" if total >= needed else "no" if total < needed else "unknown"


def _read_words(fields: Fields, law: SmoothingLaw) -> None:
    """Raise unless what the file says beside its promise has the right form."""
    choice(fields, "outputs", ("logits", "probabilities"))
    field(fields, "score", str)
    whole(fields, "batch", 1, LARGEST_COUNT)
    counted, model = field(fields, "calibration", dict), field(fields, "model", dict)
    for name in ("data", "data_fingerprint"):
        field(counted, name, str)
    whole(counted, "seed", 0, LARGEST_SEED)
    only(model, IN_MODEL, "the model")
    for name in ("fingerprint", "description", "device"):
        field(model, name, str)
    whole(model, "num_classes", 2, LARGEST_COUNT)
    bounds = numbers(field(model, "bounds", list), "bounds")
    if len(bounds) != 2 or not bounds[0] < bounds[1]:
        raise Refuted("the bounds of the inputs are not two numbers in order")
    shape = field(model, "input_shape", list)
    if len(shape) > MOST_AXES or not all(type(axis) is int and axis >= 1 for axis in shape):
        raise NotACertificate("`input_shape` must hold positive whole numbers")
    if math.prod(shape) != law.d:
        raise Refuted(f"inputs of shape {shape} do not have the {law.d} numbers of the noise")
    for row in field(model, "probes", list):
        numbers(row, "probes", infinite=True)
