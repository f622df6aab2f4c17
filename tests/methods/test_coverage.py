"""How often bounds miss, for every strategy and option, where the truth is known.

The profiles are hostile: accuracy that rises with the norm, a class that is wrong in the centre,
probabilities next to one half and next to one. A further strategy is a line in CASES.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dsrs.confidence import clopper_pearson, clopper_pearson_lower
from dsrs.laws import HISTOGRAM_BINS, GeneralizedGaussian, Truncated
from dsrs.methods import METHODS, Entry, NeymanPearson, Plan, Want, certify_or_abstain
from dsrs.noise import Stream
from dsrs.proofs import Certificate, Interval, Observation
from dsrs.votes import ESTIMATION, SampledInput
from methods.hoeffding import Hoeffding
from methods.simulation import Profile, count_misses, most_misses

ALPHA = 0.2
LAW = GeneralizedGaussian(16, 0.5, 4)
NORM = (np.arange(HISTOGRAM_BINS) + 0.5) / HISTOGRAM_BINS  # as a share of P's mass
PROFILES = {
    "rising": Profile.of_two(0.3 + 0.65 * NORM),
    "wrong in the centre": Profile.of_two((NORM > 0.25).astype(float)),
    "nearly sure": Profile.of_two(1 - 0.008 * NORM),
    "two rivals": Profile(np.stack([np.full(64, 0.3), 0.48 - 0.1 * NORM, 0.22 + 0.1 * NORM])),
    "falling": Profile.of_two(0.98 - 0.5 * NORM**3),
    "a ball": Profile.of_two((NORM < 0.7).astype(float)),
    "no majority": Profile.of_two(0.4 + 0.2 * NORM),
    "three classes": Profile(np.stack([0.3 * NORM, 0.9 - 0.5 * NORM, 0.1 + 0.2 * NORM])),
}
LAWS = ("truncated:heuristic", "truncated:0.5", "rescaled:0.8x")


def case(*methods: str, n: int = 400, **options: Any) -> dict[str, Any]:
    return {"methods": methods, "n": n, **options}


CASES = {
    "np": case("np"),
    "np, early stop": case("np", n=2400, early_stop=True),
    "double sampling": case(*LAWS),
    "other laws": case("truncated:paper-heuristic", "weighted:1:0,2:1,3:0"),
    "fallback": case(*LAWS, fallback=True),
    "early stop": case(*LAWS, n=2400, early_stop=True),
    "all options": case(
        *("np", *LAWS), fallback=True, early_stop=True, alpha_share=0.3, sample_share=0.3
    ),
    # Five votes choose the class, often a wrong one.
    "predicted": case("np", *LAWS, target="predicted"),
    "tailored": case("tailored", n=1000),
    "tailored, early stop": case("tailored", n=2400, early_stop=True),
    "radius": case("np", "tailored", n=1000, radius=0.3, batch=16),
    "radii": case("np", n=1000, radii=(0.1, 0.2, 0.4, 0.6, 1.0), batch=16),
    "precision": case("np", n=1000, precision=0.1, early_stop=True, batch=16),
    "all classes": case("np", "tailored", n=1000, classes="all", target="predicted"),
    "all classes, double sampling": case(*LAWS, classes="all", target="predicted"),
    "all classes, label": case(*LAWS, n=2400, classes="all", early_stop=True, fallback=True),
    "all classes, radius": case("np", n=1000, classes="all", radius=0.1, batch=16),
    "all classes, radii": case(
        *("np", "tailored"), n=1000, classes="all", radii=(0.1, 0.3), batch=16
    ),
    "hoeffding": case("hoeffding"),
}
# The first profiles are enough to see a mistake at all, and choosing a law takes time.
SAMPLES = [
    *((name, profile, 20 if "tailored" in CASES[name]["methods"] else 60)
      for name in CASES for profile in list(PROFILES)[:4]),
    *(pytest.param(name, profile, 100 if "tailored" in CASES[name]["methods"] else 1000,
                   marks=pytest.mark.slow)
      for name in CASES for profile in PROFILES),
]  # fmt: skip


@pytest.fixture(autouse=True)
def named(monkeypatch: pytest.MonkeyPatch, bounds_alone: None) -> None:
    """Methods of tests, by name."""
    for method in (Hoeffding, Peeking, ChosenBall):
        name = method.__name__.lower()
        monkeypatch.setitem(METHODS, name, Entry(name, name, "", method))


def plan(name: str) -> Plan:
    return Plan(LAW, n0=5, alpha=ALPHA, grid=None, **CASES[name])


@dataclass(frozen=True, slots=True)
class Peeking(NeymanPearson):
    """Unsound: the best of the bounds at three looks, each at all of alpha."""

    def want(self, seen: SampledInput) -> Want | None:
        taken = seen.taken(Stream(ESTIMATION, self.plan.law))
        return (
            Want(Stream(ESTIMATION, self.plan.law), 4 * taken or self.plan.n)
            if taken < 16 * self.plan.n
            else None
        )

    def certificate(self, seen: SampledInput) -> Certificate:
        looks = [
            seen.first(Stream(ESTIMATION, self.plan.law), end)
            for end in seen.ends(Stream(ESTIMATION, self.plan.law))
        ]
        bounds = [clopper_pearson_lower(v.successes, v.total, self.plan.alpha) for v in looks]
        return certify_or_abstain(self.plan.law, Interval(max(bounds), 1.0))


@dataclass(frozen=True, slots=True)
class ChosenBall(NeymanPearson):
    """Unsound: of the balls of one to 64 bins the one in which the votes prove most."""

    def certificate(self, seen: SampledInput) -> Certificate:
        votes = seen.first(Stream(ESTIMATION, self.plan.law), self.plan.n)
        seen_by_balls = [
            Observation(
                Truncated(self.plan.law, bins / HISTOGRAM_BINS),
                Interval(
                    *clopper_pearson(
                        sum(votes.hits[:bins]), sum(votes.trials[:bins]), self.plan.alpha
                    )
                ),
            )
            for bins in range(8, HISTOGRAM_BINS, 8)
        ]
        best = max(seen_by_balls, key=lambda one: one.interval.lower)
        return certify_or_abstain(self.plan.law, Interval(0.0, 1.0), best)


@pytest.mark.parametrize("method", ["peeking", "chosenball"])
def test_the_simulation_sees_what_is_unsound(method: str) -> None:
    runs, flat = 500, Profile.of_two(np.full(HISTOGRAM_BINS, 0.6))
    unsound = Plan(LAW, (method,), n=400, alpha=ALPHA, grid=None)
    assert count_misses(unsound, flat, runs)[method] > most_misses(ALPHA, runs)


def test_the_simulation_sees_bounds_that_are_sharp() -> None:
    # A binomial bound can only be alpha to the last vote; with 2400 votes it is close to it.
    sharp = Plan(LAW, ("np",), n=2400, alpha=ALPHA, grid=None)
    missed = count_misses(sharp, PROFILES["falling"], 1000)["np"]
    assert 1000 * ALPHA - 45 < missed <= most_misses(ALPHA, 1000)


@pytest.mark.parametrize(("name", "profile", "runs"), SAMPLES)
def test_bounds_miss_at_most_alpha_often(name: str, profile: str, runs: int) -> None:
    found = count_misses(plan(name), PROFILES[profile], runs)
    assert max(found.values()) <= most_misses(ALPHA, runs), found
