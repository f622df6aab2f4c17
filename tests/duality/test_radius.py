"""The search for the radius: where B falls to a level, what is proved there, and with what work."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from dsrs import certify
from dsrs.duality import (
    ABSTAINED,
    CERTIFIED,
    INFEASIBLE,
    LONGEST_CHAIN,
    SETTLED,
    Floats,
    Problem,
    Proved,
    compile_kernels,
    crossing_radius,
    dual_bound,
    largest_radius,
    lay_nodes,
    loss_at_shorter_shifts,
    to_zero,
    total_variation,
)
from dsrs.laws import GeneralizedGaussian, Rescaled, Truncated
from dsrs.proofs import SEARCH_WORK, Interval, Observation, check, searched
from duality.search_cases import GAUSSIAN, MNIST, general_cases, problem

SOLID = problem(MNIST, (0.93, 0.95), (Truncated(MNIST, 0.6), 0.98, 0.99))


def hollow(work: float = SEARCH_WORK) -> Problem:
    """A proof of several steps."""
    return problem(MNIST, (0.97, 0.98), (Rescaled(MNIST, 0.8), 0.95, 0.96), work=work)


def proved(
    case: Problem, level: float = 0.5, floor: float = 0.0, guess: float = 1.0
) -> tuple[Proved, Floats]:
    case.work[0] = 0.0
    count = len(case.lowers)
    steps = np.empty((LONGEST_CHAIN, count + 2))
    start = guess * case.base.unit if floor == 0 else 0.0
    found = largest_radius(case, level, floor, start, np.zeros(count), steps)
    return found, steps[: found.steps]


def test_the_step_to_zero_is_exact_for_a_cubic() -> None:
    def radius_at(height: float) -> float:
        return 1.0 - 0.5 * height + 0.03 * height**2 - 0.01 * height**3

    def fall(height: float) -> float:
        return -1 / (-0.5 + 0.06 * height - 0.03 * height**2)

    for here, there in ((0.1, 0.8), (-0.2, 0.5), (0.3, -0.4)):
        step = to_zero(radius_at(here), here, fall(here), radius_at(there), there, fall(there))
        assert radius_at(here) + step == pytest.approx(1.0, abs=1e-12)
    # Without another point, or with one that is too close, Newton's step.
    assert to_zero(1.0, 0.2, 2.0, 1.0, 0.2, 2.0) == pytest.approx(0.1)


@pytest.mark.parametrize("level", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("start", [0.1, 1.0, 4.0])
def test_the_crossing_is_that_of_the_closed_form_from_anywhere(level: float, start: float) -> None:
    case = problem(GAUSSIAN, (0.95, 1.0))
    found = crossing_radius(lay_nodes(case), level, 0.0, start, np.zeros((3, 3)), np.zeros(1))
    assert found.outcome == CERTIFIED
    z = special.ndtri(0.95) - special.ndtri(level)
    assert found.rho == pytest.approx(z, abs=1e-6)


def test_below_the_floor_there_is_nothing_to_find() -> None:
    z = float(special.ndtri(0.95))
    case = problem(GAUSSIAN, (0.95, 1.0))
    warm, found = np.zeros((3, 3)), np.zeros(1)
    assert crossing_radius(lay_nodes(case), 0.5, 1.01 * z, 1.01 * z, warm, found).outcome == (
        ABSTAINED
    )
    assert proved(case, floor=1.01 * z)[0].outcome == ABSTAINED
    higher, steps = proved(case, floor=0.9 * z)
    assert higher.rho == pytest.approx(z, abs=1e-6)
    assert len(steps) == 1


def test_a_box_that_no_classifier_fits_is_infeasible() -> None:
    # Right nearly always under the narrower law means right in a ball of 0.74 under P.
    case = problem(MNIST, (0.3, 0.5), (Rescaled(MNIST, 0.8), 0.99, 1.0))
    assert proved(case)[0].outcome == INFEASIBLE


@pytest.mark.parametrize("name", ["solid", "hollow", *general_cases()])
def test_every_step_holds_and_they_leave_no_gap(name: str) -> None:
    case = {"solid": SOLID, "hollow": hollow()}.get(name) or general_cases()[name][0]
    found, steps = proved(case)
    assert found.outcome == CERTIFIED
    assert found.rho == steps[0, 0]
    assert (np.diff(steps[:, 0]) < 0).all()
    for n, (rho, bound, *multipliers) in enumerate(steps):
        value = dual_bound(case, np.array(multipliers), rho)
        assert value == pytest.approx(bound, abs=1e-12)
        assert value > 0.5
        if value - loss_at_shorter_shifts(case, np.array(multipliers)) > 0.5:
            assert n + 1 == len(steps)
            break
        below = steps[n + 1, 0] if n + 1 < len(steps) else 0.0
        assert total_variation(case, rho - below) < value - 0.5
    assert found.solid == (loss_at_shorter_shifts(case, steps[-1, 2:].copy()) < 1e-9)


def test_the_answer_does_not_depend_on_where_the_search_starts() -> None:
    for case in (SOLID, hollow(), general_cases()["few dimensions"][0]):
        radii = [proved(case, guess=guess)[0].rho for guess in (0.3, 1.0, 2.5)]
        # Two proofs may differ by what is no longer worth a step.
        assert max(radii) - min(radii) < 2 * SETTLED * case.base.unit


def test_a_higher_level_is_reached_less_far() -> None:
    for case in (SOLID, general_cases()["rescaled"][0]):
        radii = []
        for level in (0.4, 0.5, 0.7):
            found, steps = proved(case, level)
            assert steps[0, 1] > level
            radii.append(found.rho)
        assert radii == sorted(radii, reverse=True)
        assert radii[0] > radii[2] + 0.1 * case.base.unit


def test_the_budget_of_work_is_kept_and_told() -> None:
    enough, _ = proved(hollow())
    assert enough.complete
    for work in (500.0, 5_000.0, 20_000.0):
        case = hollow(work)
        found, steps = proved(case)
        assert not found.complete
        # One search of multipliers, or the last looks down, may be under way when it is spent.
        assert case.work[0] < work + 60_000
        assert found.rho <= enough.rho
        if found.outcome == CERTIFIED:
            assert dual_bound(case, steps[0, 2:].copy(), steps[0, 0]) > 0.5


def test_a_certificate_says_that_its_search_was_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    box = Interval(0.97, 0.98), Observation(Rescaled(MNIST, 0.8), Interval(0.95, 0.96))
    whole = certify(MNIST, *box)
    assert whole.complete
    monkeypatch.setattr("dsrs.proofs.dual.SEARCH_WORK", 5_000.0)
    short = certify(MNIST, *box)
    assert not short.complete
    assert check(short)
    assert short.np_radius is not None
    assert short.np_radius <= short.radius < whole.radius
    monkeypatch.undo()
    assert certify(MNIST, *box) == whole, "work is counted, not timed"


HANGING = [
    (65, 0.5, 0.4283737517917998, 0.17876102522308418, (0.9993949957210102, 0.9996832682443388),
     (0.998473940020962, 0.9994560069794453)),
    (2, 0.5, 1.0, 0.4, (0.95, 0.96), (0.9, 0.93)),
    (3072, 0.55, 1.0, 0.4, (0.95, 0.96), (0.9, 0.93)),
    (65, 0.7, 1.0, 0.4, (0.95, 0.96), (0.9, 0.93)),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("d", "m", "sigma", "beta", "p", "q"), HANGING)
def test_no_box_takes_more_than_its_work(  # type: ignore[no-untyped-def]
    d, m, sigma, beta, p, q, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_kernels()
    law = GeneralizedGaussian(d, sigma, d / 2 - m)
    spent = []
    plain = searched

    def counted(case: Problem, *arguments: object) -> Proved:
        found = plain(case, *arguments)  # type: ignore[arg-type]
        spent.append(float(case.work[0]))
        return found

    monkeypatch.setattr("dsrs.proofs.dual.searched", counted)
    found = certify(law, Interval(*p), Observation(Rescaled(law, beta), Interval(*q)))
    assert check(found)
    assert found.np_radius is not None
    assert found.radius >= found.np_radius > 0
    assert sum(spent) < 1.5 * SEARCH_WORK
    assert found.complete or max(spent) > SEARCH_WORK


def test_shapes_near_zero_certify_or_abstain_without_an_error() -> None:
    for gap in (0.05, 0.02):
        for d, eta in ((4, 2.0), (100, 1.0)):
            law = GeneralizedGaussian(d, 1.0, d / 2 - gap, eta)
            found = certify(law, Interval(0.9, 1.0))
            assert found.radius >= 0
            assert check(found)
