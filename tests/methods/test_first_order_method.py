"""First order: sums of noise that do not depend on workers, and bounds that cover the truth."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats

from dsrs.certifying.again import recertify_run
from dsrs.certifying.many_inputs import certify_run
from dsrs.certifying.one_input import sample_input
from dsrs.classifiers import Classifier, from_callable
from dsrs.datasets import Dataset
from dsrs.errors import DataError, InvalidInput, NotEnoughVotes
from dsrs.laws import GeneralizedGaussian
from dsrs.laws.grid import Grid
from dsrs.methods import Plan, certificates_of, methods_of
from dsrs.methods.first_order import MissedNoise, held_by
from dsrs.noise.normals import NORMAL_UNITS
from dsrs.noise.stream import NoiseStream, Stream
from dsrs.proofs.checking import check
from dsrs.store import open_run
from dsrs.votes import Setting, VoteCollector, WorkUnit, count_votes
from dsrs.votes.records import ESTIMATION, SampledInput
from dsrs.votes.tally import Counts

D = 12
LAW = GeneralizedGaussian(D, 0.5)
GRID = Grid(1 / 4080)
PLAN = Plan(LAW, ("np", "first-order"), n=4000, batch=64, grid=GRID)
X = np.full(D, 0.5, np.float32)


def slab(below: float, above: float) -> Classifier:
    """Class 1 where the mean of the coordinates lies between two numbers."""

    def scores(rows: NDArray[np.float32]) -> NDArray[np.float64]:
        mean = rows.reshape(len(rows), -1).mean(axis=1, dtype=np.float64)
        inside = ((mean > below) & (mean < above)).astype(float)
        return np.stack([0.5 - inside, inside - 0.5], axis=1)

    return from_callable(scores, (D,), 2)


# The mean has the deviation sigma / sqrt(d) about 0.5.
UNIT = LAW.sigma / math.sqrt(D)
LINEAR = slab(-math.inf, 0.5 + 1.2 * UNIT)
SLAB = slab(0.5 - 2 * UNIT, 0.5 + 1.2 * UNIT)


STREAM = Stream(ESTIMATION, LAW)


@pytest.mark.parametrize("workers", [1, 3])
def test_the_sums_are_those_of_the_noise_of_the_misses(workers: int) -> None:
    unit = WorkUnit(5, STREAM, 100, 1500, (MissedNoise(1, 2000, D),))
    with VoteCollector(workers) as collector:
        counts = collector.collect(LINEAR, X, Setting(3, 64, GRID), unit)
    (tally,) = counts.tallies
    assert isinstance(tally, MissedNoise)
    # The noise itself, on a grid so fine that it is hardly rounded.
    stream = NoiseStream(STREAM, 3, 5, Grid(2.0**-38))
    noise, norms = np.empty((1536, D), np.float32), np.empty(1536)
    stream.add_to(np.zeros(D, np.float32), 0, noise, norms)
    on_grid = np.empty((1536, D), np.float32)
    NoiseStream(STREAM, 3, 5, GRID).add_to(X, 0, on_grid, norms)
    missed = LINEAR.classify(on_grid) != 1
    assert missed[100:1500].sum() == counts.votes[0].sum() > 100
    for half, samples in enumerate((slice(100, 1000), slice(1000, 1500))):
        expected = (noise[samples][missed[samples]].astype(np.float64) / LAW.sigma).sum(axis=0)
        np.testing.assert_allclose(tally.sums[half] / NORMAL_UNITS, expected, atol=2e-5)


def test_the_tally_does_not_depend_on_division_order_or_what_comes_after() -> None:
    generator = np.random.default_rng(1)
    asked, setting = MissedNoise(1, 1501, D), Setting(3, 64, GRID)

    def counted(first: int, stop: int) -> Counts:
        return count_votes(SLAB, X, setting, WorkUnit(5, STREAM, first, stop, (asked,)))

    whole = counted(0, 1501)
    (tally,) = whole.tallies
    assert tally.summary() is not None
    for _ in range(5):
        cuts = np.sort(generator.choice(np.arange(1, 1600), 6, replace=False))
        parts = [counted(int(a), int(b)) for a, b in itertools.pairwise([0, *cuts, 1600])]
        total = Counts.zero(2, (asked,))
        assert total.tallies[0].summary() is None
        for place in generator.permutation(len(parts)):
            total.merge(parts[place])
        # Votes from 1501 on are counted, and are no part of the sum.
        assert total.votes.sum() == 1600
        assert total.tallies[0].summary() == tally.summary()


def test_the_slope_is_what_it_was_to_the_last_bit() -> None:
    """Recorded before tallies were types; whole numbers on a grid are the same everywhere."""

    def scores(rows: NDArray[np.float32]) -> NDArray[np.float64]:
        inside = (rows.mean(axis=1, dtype=np.float64) < 0.6).astype(float)
        return np.stack([0.5 - inside, inside - 0.5], axis=1)

    law = GeneralizedGaussian(32, 0.5)
    plan = PLAN.replace(law=law, n=1501, seed=3, grid=Grid(1 / 256))
    model = from_callable(scores, (32,), 2)
    votes = sample_input(model, np.full(32, 0.5, np.float32), plan, 5, 1).votes
    assert sum(part.counts[0] for part in votes) == 111 + 93
    assert votes[-1].tallies == {
        "missed-noise": {
            "split": 750,
            "first_norm": 0.25861528159882774,
            "product": 0.050241262366476865,
        }
    }


def test_the_same_votes_serve_neyman_pearson() -> None:
    seen = sample_input(LINEAR, X, PLAN, 0, 1)
    alone = sample_input(LINEAR, X, PLAN.replace(methods=("np",)), 0, 1)
    assert seen.taken(STREAM) == 4000
    assert seen.first(STREAM, 4000).counts == alone.first(STREAM, 4000).counts
    with pytest.raises(NotEnoughVotes, match="not added up"):
        certificates_of(alone, PLAN)


def test_a_slab_gains_and_a_half_space_does_not() -> None:
    plan = PLAN.replace(n=200_000, alpha=0.01)
    for classifier, gains in ((LINEAR, False), (SLAB, True)):
        found = certificates_of(sample_input(classifier, X, plan, 0, 1), plan)
        assert check(found["first-order"])
        assert (found["first-order"].radius > 1.01 * found["np"].radius) == gains
        assert found["first-order"].radius < 1.2 * UNIT * math.sqrt(D)


def test_a_run_keeps_what_the_certificate_needs(tmp_path: Path) -> None:
    data = Dataset.from_arrays(np.stack([X, X * np.float32(0.5)]), np.array([1, 1]))
    certify_run(SLAB, data, PLAN, range(2), tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        made = list(run.results())
    assert check(made[0].certificates["first-order"])
    recertify_run(tmp_path / "run", output=tmp_path / "again")
    with open_run(tmp_path / "again") as run:
        assert [one.certificates for one in run.results()] == [one.certificates for one in made]


def test_votes_keep_their_slope_in_json() -> None:
    seen = sample_input(LINEAR, X, PLAN, 0, 1)
    fields = json.loads(json.dumps(seen.to_dict()))
    assert SampledInput.from_dict(fields, LAW) == seen
    slope = fields["votes"][-1]["tallies"]["missed-noise"]
    assert slope["split"] == 2000
    slope["first_norm"] = -1.0
    with pytest.raises(DataError, match="slope"):
        certificates_of(SampledInput.from_dict(fields, LAW), PLAN)


def test_an_event_holds_no_more_of_a_normal() -> None:
    v = np.abs(special.ndtri((np.arange(10**6) + 0.5) / 10**6))
    for share in (1.0, 0.1, 1e-3):
        worst = np.sort(v)[-round(share * len(v)) :].sum() / len(v)
        assert worst <= held_by(share) * (1 + 1e-4) <= worst * 1.001
    assert held_by(0.0) == 0


@pytest.mark.parametrize(
    "changes",
    [{"grid": None}, {"law": GeneralizedGaussian(D, 0.5, 2)}, {"n": 1}, {"radius": 1.0}],
)
def test_plans_it_cannot_serve_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        methods_of(PLAN.replace(**changes))


def _wrong(classifier: Classifier, reach: float, runs: int, alpha: float, n: int) -> float:
    """How often the certificate claims more than the true distance `reach`."""
    plan = Plan(LAW, ("first-order",), n=n, alpha=alpha, batch=64, grid=GRID)
    wrong = 0
    with VoteCollector(1) as collector:
        for index in range(runs):
            seen = sample_input(classifier, X, plan, index, 1, collector)
            wrong += certificates_of(seen, plan)["first-order"].radius > reach
    return wrong / runs


def _true_reach(below: float, above: float) -> float:
    """Where the smoothed slab falls to one half, along the mean; in units of sigma."""
    low, high = 0.0, above
    for _ in range(100):
        rho = 0.5 * (low + high)
        inside = stats.norm.cdf(above - rho) - stats.norm.cdf(below - rho)
        low, high = (rho, high) if inside > 0.5 else (low, rho)
    return low * LAW.sigma


@pytest.mark.slow
@pytest.mark.parametrize("classifier", ["linear", "slab"])
def test_certificates_are_wrong_at_most_alpha_often(classifier: str) -> None:
    """At an alpha so large that a quarter of it would be seen."""
    alpha, runs = 0.5, 2000
    made, below = (LINEAR, -math.inf) if classifier == "linear" else (SLAB, -2.0)
    wrong = _wrong(made, _true_reach(below, 1.2), runs, alpha, 256)
    assert wrong <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)
