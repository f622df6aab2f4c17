"""Certificates in the l1, l2 and l-infinity norms by Monte Carlo (paper, appendix on other norms).

One sample searches for radius and multipliers; a fresh sample tests what was found. Only the test
is trusted, and only its failure probability is paid for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsrs.confidence import AlphaBudget, Share, empirical_bernstein_upper
from dsrs.errors import AlphaOverspent, InvalidInput
from dsrs.laws import AdditionalLaw
from dsrs.other_norms.law import Floats, NormLaw
from dsrs.other_norms.multipliers import (
    best_multipliers,
    check_nonincreasing,
    density_ratios,
    excess,
)
from dsrs.other_norms.worst_shift import ShellSample
from dsrs.proofs.certificate import Status

# Fractions of the radius that the search proposes, tested in this order.
LADDER = (0.5, 0.9, 0.97, 0.985, 0.993, 1.0)
# Draws that are in memory at a time during the test.
_CHUNK = 2**17
# Room for the rounding of densities, means and variances, which is below 1e-10.
_ROUNDING = 1e-9
# Halvings of the logarithmic bracket of the radius: finer than the last rung of the ladder.
_RADIUS_STEPS = 12


@dataclass(frozen=True, slots=True)
class SeenUnder:
    """Under the additional law the class has probability at least `q_lower`."""

    law: AdditionalLaw
    q_lower: float

    def __post_init__(self) -> None:
        _check_probability("q_lower", self.q_lower)


@dataclass(frozen=True, slots=True)
class MonteCarloCertificate:
    """No shift shorter than `radius` in the law's norm changes the smoothed answer.

    Holds except with the probabilities in `shares`: that of the Monte Carlo test, and those of the
    bounds `p_lower` and `q_lower` as far as they were paid from the same budget.
    """

    law: NormLaw
    p_lower: float
    additional: tuple[SeenUnder, ...]
    radius: float
    status: Status
    multipliers: tuple[float, ...]
    dual_bound: float | None
    samples: int
    search_samples: int
    shares: tuple[Share, ...]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "law": self.law.to_dict(),
            "p_lower": self.p_lower,
            "additional": [
                {"law": seen.law.to_dict(), "q_lower": seen.q_lower} for seen in self.additional
            ],
            "radius": self.radius,
            "status": self.status,
            "multipliers": list(self.multipliers),
            "dual_bound": self.dual_bound,
            "samples": self.samples,
            "search_samples": self.search_samples,
            "alpha": [share._asdict() for share in self.shares],
        }


def certify_by_monte_carlo(
    law: NormLaw,
    p_lower: float,
    *additional: SeenUnder,
    budget: AlphaBudget,
    generator: np.random.Generator,
    samples: int = 1_000_000,
    search_samples: int = 50_000,
) -> MonteCarloCertificate:
    """The largest radius, in the norm of `law`, that the test on fresh samples proves.

    `p_lower` and each `q_lower` are lower bounds of the class's probability under P and under the
    additional laws, which are built on `law.radial`; pay for them from `budget` first. The test
    spends what is left of it.

    Why one share is enough for all rungs of the ladder: given the search sample, rung j claims
    that its dual bound at its radius exceeds 1/2. Rungs are tested by growing radius, up to the
    first that fails. To certify a radius whose claim is false, the first false claim must pass its
    own test, which happens with probability at most the share (fixed-sequence testing). All rungs
    may use the same fresh draws. Without additional laws this is the Neyman-Pearson certificate.
    """
    _check_probability("p_lower", p_lower)
    for name, count in (("samples", samples), ("search_samples", search_samples)):
        if count != int(count) or count < 100:
            raise InvalidInput(f"`{name}` must be a whole number >= 100, got {count!r}")
    others = [seen.law for seen in additional]
    check_nonincreasing(law, others)
    if not budget.remaining:
        raise AlphaOverspent(
            f"nothing is left of alpha = {budget.alpha!r} for the Monte Carlo test; spent on:\n"
            + budget.describe()
        )
    share = budget.spend(budget.remaining, "Monte Carlo test of the dual bound")
    errors = 1 - np.array([p_lower, *(seen.q_lower for seen in additional)])

    search = _Search(ShellSample.draw(law, search_samples, generator), others, errors, share)
    largest = search.largest_radius(samples)
    radius, multipliers, bound = 0.0, np.zeros(0), None
    status: Status = "abstained"
    if largest > 0:
        status = "undecided"  # proposed, but not tested yet
        rungs = [(part * largest, search.multipliers(part * largest)) for part in LADDER]
        tested = fresh_dual_bounds(law, rungs, others, errors, samples, share, generator)
        for (at, found), proved in zip(rungs, tested, strict=True):
            if not proved > 0.5:
                break
            radius, multipliers, bound, status = at, found, proved, "certified"
    return MonteCarloCertificate(
        law=law,
        p_lower=p_lower,
        additional=additional,
        radius=radius,
        status=status,
        multipliers=tuple(map(float, multipliers)),
        dual_bound=bound,
        samples=samples,
        search_samples=search_samples,
        shares=tuple(budget.shares),
    )


@dataclass
class _Search:
    """Radius and multipliers that look good on one shared sample; nothing here is trusted."""

    sample: ShellSample
    others: Sequence[AdditionalLaw]
    errors: Floats
    share: float

    def __post_init__(self) -> None:
        self._last = np.ones(len(self.errors))

    def multipliers(self, radius: float) -> Floats:
        """The best multipliers at this radius that two searches find."""
        ratios = density_ratios(self.sample, radius, self.others)

        def wrong(multipliers: Floats) -> float:
            return float(self.errors @ multipliers + excess(ratios, multipliers).mean())

        # From the ones before, and with every law at work: a multiplier near zero stays there.
        starts = (self._last, np.ones(len(self.errors)))
        self._last = min((best_multipliers(ratios, self.errors, at) for at in starts), key=wrong)
        return self._last

    def largest_radius(self, samples: int) -> float:
        """The largest radius whose test on `samples` fresh draws is expected to pass; 0 if none."""

        def passes(radius: float) -> bool:
            multipliers = self.multipliers(radius)
            above = excess(density_ratios(self.sample, radius, self.others), multipliers)
            expected = empirical_bernstein_upper(
                float(above.mean()), float(above.var(ddof=1)), samples, self.share
            )
            return float(self.errors @ multipliers) + expected < 0.5

        # The typical norm is the largest scale on which radii can lie; walk down from it.
        high = 2 * float(self.sample.law.norms(self.sample.law.radial.m))
        low, smallest = high / 2, 1e-9 * high
        while not passes(low):
            high, low = low, low / 2
            if low < smallest:
                return 0.0
        for _ in range(_RADIUS_STEPS):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if passes(middle) else (low, middle)
        return low


def fresh_dual_bounds(
    law: NormLaw,
    rungs: Sequence[tuple[float, Floats]],
    others: Sequence[AdditionalLaw],
    errors: Floats,
    samples: int,
    share: float,
    generator: np.random.Generator,
) -> list[float]:
    """A lower confidence bound of the dual bound for each rung, from one pass over fresh draws."""
    sums = np.zeros((len(rungs), 2))
    for begin in range(0, samples, _CHUNK):
        chunk = ShellSample.draw(law, min(_CHUNK, samples - begin), generator)
        for j, (radius, multipliers) in enumerate(rungs):
            above = excess(density_ratios(chunk, radius, others), multipliers)
            sums[j] += above.sum(), np.square(above).sum()
    bounds = []
    for (_, multipliers), (total, squares) in zip(rungs, sums, strict=True):
        mean = min(total / samples, 1.0)
        variance = max(squares - total * mean, 0.0) / (samples - 1)
        wrong = float(errors @ multipliers) + empirical_bernstein_upper(
            mean, variance, samples, share
        )
        bounds.append(1 - wrong - _ROUNDING * (1 + wrong))
    return bounds


def _check_probability(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise InvalidInput(f"`{name}` must be a probability in [0, 1], got {value!r}")
