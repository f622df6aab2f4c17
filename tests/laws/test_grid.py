"""Certificates on a grid: what is charged, how far inputs move, and that floats do not lie."""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs import GeneralizedGaussian, SmoothedClassifier, check
from dsrs.certifying import sample_input
from dsrs.classifiers import Classifier
from dsrs.confidence import clopper_pearson_lower
from dsrs.errors import InvalidInput
from dsrs.laws import Grid, Truncated, Weighted
from dsrs.methods import Plan, certificates_of
from dsrs.noise import NoiseLaw, Stream
from dsrs.proofs import NOTHING_KNOWN, Certificate, Dual, Lead, OnGrid, radius_less
from dsrs.votes import SampledInput
from known_classifiers import Linear

LAW = GeneralizedGaussian(48, 0.5)
GRID = Grid.of_bounds((0.0, 1.0))
METHODS = ("np", "tailored", "truncated:0.5", "rescaled:0.8x")


class Gossip(Classifier):
    """A linear classifier, unless the low bits of its input say where it came from.

    A black pixel under noise has random low bits. A pixel of another value v has not: where the
    noise takes nearly all of v away, the sum of two coarse numbers has zeros at its end. The class
    is that of the linear classifier as long as some small pixel has other low bits.
    """

    d = 784
    num_classes = 2
    input_shape = (d,)
    bounds = (0.0, 1.0)
    fingerprint = description = "gossip"

    def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
        linear = (batch.sum(axis=1) < 100.0).astype(np.int64)
        # Numbers below 2^-9 that are multiples of 2^-30: at most a few bits are not zero.
        small = np.abs(batch) < 2.0**-9
        coarse = np.ldexp(batch.astype(np.float64), 30) % 1 == 0
        return np.asarray(np.where(np.all(coarse | ~small, axis=1), 1 - linear, linear))


def perturbed(radius: float) -> NDArray[np.float32]:
    """Grey instead of black, on the default grid and closer to black than `radius`."""
    steps = math.floor(min(0.5 * radius, 1.0) / math.sqrt(Gossip.d) * 4080)
    return GRID.values(np.full(Gossip.d, float(steps)))


@pytest.mark.parametrize("grid", [None, "default"])
def test_low_bits_refute_float_certificates_and_no_others(grid: str | None) -> None:
    """Without the grid a proved radius is wrong: the class changes at half of it."""
    law = GeneralizedGaussian(Gossip.d, 0.25)
    smoothed = SmoothedClassifier(
        *(Gossip(), law),
        n=4000,
        method="np",
        seed=0,
        grid=grid,  # type: ignore[arg-type]
    )
    black = np.zeros(Gossip.d, np.float32)
    found = smoothed.certify(black, 1)
    assert found.status == "certified"
    x = perturbed(found.radius)
    assert 0 < float(np.linalg.norm(x)) < found.radius
    there = smoothed.predict(x, n=2000).label
    assert there == (0 if grid is None else 1)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_charges_its_bounds_and_says_so(method: str) -> None:
    plan = Plan(LAW, (method,), n=4000, grid=GRID)
    seen = sample_input(Linear(48, 0.4), np.zeros(48, np.float32), plan, 0, 1)
    (found,) = certificates_of(seen, plan).values()
    (free,) = certificates_of(seen, plan.replace(grid=None)).values()
    assert found.status == "certified"
    assert found.grid is not None
    assert (found.grid.step, found.grid.moved) == (1 / 4080, 0.0)
    laws: list[NoiseLaw] = [LAW, *(one.law for one in found.observations)]
    assert found.grid.variation == max(map(GRID.variation, laws)) > 0
    pairs = [(found.known_of_p, free.known_of_p, GRID.variation(LAW))]
    for one, other in zip(found.observations, free.observations, strict=True):
        pairs.append((one.interval, other.interval, GRID.variation(one.law)))
    for charged, interval, variation in pairs:
        if interval.lower > 0:
            assert Fraction(charged.lower) <= Fraction(interval.lower) - Fraction(variation)
        if interval.upper < 1:
            assert Fraction(charged.upper) >= Fraction(interval.upper) + Fraction(variation)
    assert free.radius * (1 - 1e-5) < found.radius < free.radius
    assert check(found)
    assert Certificate.from_json(found.to_json()) == found


def test_leading_classes_are_charged_on_both_sides() -> None:
    plan = Plan(LAW, ("np",), n=4000, classes="all", target="predicted", grid=GRID)
    seen = SampledInput(0, None, 1, 1, _three_classes())
    (found,) = certificates_of(seen, plan).values()
    (free,) = certificates_of(seen, plan.replace(grid=None)).values()
    assert isinstance(found.proof, Lead)
    assert isinstance(free.proof, Lead)
    assert found.proof.rival > free.proof.rival
    assert found.proof.lower < free.proof.lower
    assert check(found)


def _three_classes() -> tuple:  # type: ignore[type-arg]
    from dsrs.votes import ESTIMATION, SELECTION, Votes

    def votes(purpose: str, *counts: int) -> Votes:
        bins = (sum(counts), *[0] * 63)
        return Votes(Stream(purpose, LAW), 0, counts, bins, (counts[1], *[0] * 63))

    return votes(SELECTION, 28, 44, 28), votes(ESTIMATION, 1120, 1760, 1120)


def test_an_input_off_the_grid_moves_and_its_radius_shrinks_by_as_much() -> None:
    smoothed = SmoothedClassifier(Linear(48, 0.4), LAW, n=4000, method="np", seed=0)
    cells = np.full(48, 160.0)
    on, off = GRID.values(cells), GRID.values(cells + 0.25)
    here, there = smoothed.certify(on, 1, index=3), smoothed.certify(off, 1, index=3)
    assert here.moved == 0
    distance = 0.25 / 4080 * math.sqrt(48)
    assert distance < there.moved < distance * (1 + 1e-5)
    # The same votes, because the point that was sampled is the same.
    assert there.known_of_p == here.known_of_p
    assert Fraction(there.radius) + Fraction(there.moved) <= Fraction(here.radius)
    assert there.radius == pytest.approx(here.radius - there.moved, abs=1e-15)
    assert check(there)
    forged = dataclasses.replace(there, radius=here.radius)
    assert not check(forged)
    assert there.grid is not None
    assert not check(dataclasses.replace(there, grid=dataclasses.replace(there.grid, moved=-1.0)))


def test_nothing_is_claimed_where_the_input_moved_farther_than_the_radius() -> None:
    smoothed = SmoothedClassifier(Linear(48, 0.4), LAW, n=4000, method="np", grid=Grid(0.25))
    found = smoothed.certify(np.full(48, 0.124, np.float32), 1)
    assert found.grid is not None
    assert (found.status, found.radius, found.proof) == ("abstained", 0.0, Dual(NOTHING_KNOWN))
    assert found.moved == pytest.approx(0.124 * math.sqrt(48))
    assert (len(check(found)), check(found).abstained) == (0, 1)


def test_a_radius_that_is_asked_for_is_that_of_the_input_itself() -> None:
    plan = Plan(LAW, ("np",), n=20_000, radius=0.3, grid=Grid(0.25))
    classifier = Linear(48, 2.0)
    near = sample_input(classifier, np.full(48, 0.01, np.float32), plan, 0, 1)
    far = sample_input(classifier, np.full(48, 0.1, np.float32), plan, 0, 1)
    (proved,), (short,) = (certificates_of(seen, plan).values() for seen in (near, far))
    assert proved.status == "certified"
    assert proved.radius >= 0.3
    assert far.moved == pytest.approx(0.1 * math.sqrt(48))
    # The looks go on until the radius is reached less the distance.
    assert near.taken(Stream("estimation", LAW)) < far.taken(Stream("estimation", LAW))
    assert (short.status == "certified") == (short.radius >= 0.3)


def test_bytes_are_exact_on_the_default_grid() -> None:
    levels = np.arange(256, dtype=np.float32) / np.float32(255)
    np.testing.assert_array_equal(GRID.cells(levels), np.arange(256) * 16)
    np.testing.assert_array_equal(GRID.values(GRID.cells(levels)), levels)
    assert GRID.distance(levels) == 0
    signed = Grid.of_bounds((-1.0, 1.0))
    assert signed.distance((np.arange(256) / 127.5 - 1).astype(np.float32)) == 0
    # As fine as float32 itself, but numbers and points are the same.
    numbers = np.random.default_rng(0).random(50, dtype=np.float32)
    assert Grid(2.0**-24).distance(numbers) == 0
    assert Grid(2.0**-24).distance(numbers.astype(np.float64) + 1e-10) > 0


def test_a_number_that_is_too_coarse_for_the_grid_stands_for_itself() -> None:
    # Neighbours in float32 are 31.875 steps apart here, their grid points 32: a radius in between
    # would hold one of them and not the other.
    grid = Grid(1 / 4080, 1e5)
    here, there = (np.array([x], np.float32) for x in (100_000.0, 100_000.0078125))
    apart = grid.step * float((grid.cells(there) - grid.cells(here))[0])
    assert apart > float((there - here)[0])
    assert apart <= float((there - here)[0]) + grid.distance(here) + grid.distance(there)


def test_an_input_in_double_precision_is_where_it_is() -> None:
    coarse = np.full(48, 160.25 / 4080, np.float32)
    x = coarse.astype(np.float64) + 0.4 * np.spacing(coarse)
    np.testing.assert_array_equal(x.astype(np.float32), coarse)
    away = Fraction(float(x[0])) - 160 * Fraction(GRID.step)
    seen = sample_input(Linear(48, 0.4), x, Plan(LAW, ("np",), n=64, grid=GRID), 0, 1)
    assert Fraction(seen.moved) ** 2 >= 48 * away**2
    assert seen.moved > GRID.distance(coarse)


@pytest.mark.parametrize("d", [784, 150_528])
def test_an_input_in_double_precision_is_no_grid_point_because_its_float32_is(d: int) -> None:
    """The nearest float32 of x is that of a grid point, and x lies beside the point."""
    rng = np.random.default_rng(0)
    points = rng.integers(2048, 4080, d) / 4080
    x = points.astype(np.float32) + rng.choice([-1, 1], d) * 2.9e-8  # half a unit is 2.98e-8
    np.testing.assert_array_equal(x.astype(np.float32), points.astype(np.float32))
    true = float(np.linalg.norm(x - points))
    assert true > 2e-8 * math.sqrt(d)
    assert true <= GRID.distance(x) <= true * (1 + 1e-6)
    assert GRID.distance(points.astype(np.float32)) == 0
    assert GRID.distance(GRID.origin + GRID.cells(x) * GRID.step) == 0


def test_the_default_step_is_halved_until_it_is_a_sixteenth_of_sigma() -> None:
    assert Grid.of_bounds((0.0, 1.0), GeneralizedGaussian(4, 0.25)) == GRID
    tabular = Grid.of_bounds((0.0, 5000.0), GeneralizedGaussian(4, 0.005))
    assert 0.005 / 32 < tabular.step <= 0.005 / 16
    assert math.log2(5000 / 4080 / tabular.step).is_integer()
    fine = Grid.of_bounds((0.0, 1.0), GeneralizedGaussian(4, 1e-4))
    levels = np.arange(256, dtype=np.float32) / np.float32(255)
    assert fine.step <= 1e-4 / 16
    assert fine.distance(levels) == 0


def test_a_step_longer_than_half_of_sigma_is_refused_with_the_reason() -> None:
    Grid(0.25).refuse_coarse(LAW)
    with pytest.raises(InvalidInput, match=r"0\.26, must be at most sigma / 2 = 0\.25: .*rounded"):
        Grid(0.26).refuse_coarse(LAW)


def test_halves_are_rounded_up_on_either_side_of_zero() -> None:
    cells = Grid(0.5).cells(np.array([-0.75, -0.25, 0.25, 0.75], np.float32))
    np.testing.assert_array_equal(cells, [-1, 0, 1, 2])


def test_the_variation_grows_with_size_and_dimension_and_stays_small() -> None:
    image = Grid.of_bounds((0.0, 1.0))
    mnist = image.variation(GeneralizedGaussian(784, 0.5))
    imagenet = image.variation(GeneralizedGaussian(150_528, 0.5))
    assert 1e-9 < mnist < 1e-8
    assert 1e-7 < imagenet < 2e-6
    assert image.variation(GeneralizedGaussian(784, 1.0)) > mnist
    assert image.variation(Truncated(GeneralizedGaussian(784, 0.5, 380), 0.7)) < 1e-7
    assert Grid(1e-10).variation(GeneralizedGaussian(784, 100.0)) <= 1


def test_what_a_grid_cannot_be() -> None:
    for step in (0.0, -1.0, math.nan, 1e-20, "fine"):
        with pytest.raises(InvalidInput):
            Grid(step)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="too small for inputs"):
        Grid(1e-12).cells(np.array([1e9], np.float32))
    with pytest.raises(InvalidInput, match="`grid` must be a Grid"):
        Plan(LAW, grid=0.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="`grid` must have a larger step than 1e-10"):
        Plan(GeneralizedGaussian(784, 0.5), grid=Grid(1e-10))
    rises = Weighted(GeneralizedGaussian(2, 1.0), (1.0, 2.0), (0.0, 5.0))
    with pytest.raises(InvalidInput, match="falls"):
        GRID.variation(rises)


def test_a_plan_keeps_its_grid() -> None:
    for grid in (None, GRID, Grid(0.25, -1.0)):
        plan = Plan(LAW, grid=grid)
        assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


def test_radii_less_a_distance_are_rounded_down() -> None:
    for radius, distance in ((1.0, 1e-17), (0.3, 0.1), (math.inf, 1.0), (0.5, 0.5), (0.1, 0.2)):
        left = radius_less(radius, distance)
        assert left >= 0
        if 0 < left < math.inf:
            assert Fraction(left) + Fraction(distance) <= Fraction(radius)
            more = math.nextafter(left, 2.0)
            assert Fraction(more) + Fraction(distance) > Fraction(radius)
    assert radius_less(0.5, 0.5) == radius_less(0.1, 0.2) == 0
    assert radius_less(math.inf, 1.0) == math.inf


def test_the_lower_bound_is_clopper_and_pearsons_less_the_variation() -> None:
    plan = Plan(LAW, ("np",), n=2000, grid=GRID)
    seen = sample_input(Linear(48, 0.4), np.zeros(48, np.float32), plan, 0, 1)
    (found,) = certificates_of(seen, plan).values()
    plain = clopper_pearson_lower(
        seen.first(Stream("estimation", LAW), 2000).successes, 2000, 0.001
    )
    assert found.known_of_p.lower == pytest.approx(plain - GRID.variation(LAW), abs=1e-15)
    assert found.grid == OnGrid(1 / 4080, 0.0, 0.0, GRID.variation(LAW))
