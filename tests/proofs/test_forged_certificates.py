"""Forged certificates of every kind: refused, without a traceback, wherever they are read."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import dsrs
from dsrs import Certificate, GeneralizedGaussian, Interval, Observation, Rescaled, Truncated
from dsrs.errors import DataError, InvalidInput
from dsrs.proofs import Dual, Step, check, find_flaw

MNIST = GeneralizedGaussian(784, 0.5, 380)
SMALL = GeneralizedGaussian(10, 1.0)


@pytest.fixture(scope="module")
def double() -> Certificate:
    return dsrs.certify(
        MNIST,
        Interval(0.93, 0.95),
        Observation(Truncated(MNIST, 0.6), Interval(0.98, 0.99)),
        Observation(Rescaled(MNIST, 0.4), Interval(0.96, 1.0)),
    )


@pytest.fixture(scope="module")
def chain() -> Certificate:
    """A hollow proof of several steps."""
    found = dsrs.certify(
        MNIST, Interval(0.97, 0.98), Observation(Rescaled(MNIST, 0.4), Interval(0.95, 0.96))
    )
    assert len(steps_of(found)) > 2
    return found


@pytest.fixture(scope="module")
def sure() -> Certificate:
    return dsrs.certify(SMALL, Interval(1.0, 1.0))


def steps_of(found: Certificate) -> tuple[Step, ...]:
    assert isinstance(found.proof, Dual)
    return found.proof.steps


def proving(found: Certificate, **change: Any) -> Certificate:
    """The certificate with other fields of its proof."""
    assert isinstance(found.proof, Dual)
    return replace(found, proof=replace(found.proof, **change))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all entries of a JSON value, inner ones too."""
    if path:
        yield path
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*path, key))


def with_entry(fields: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(fields)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


def verdict(fields: Any) -> bool | None:
    """Whether `check` accepts a JSON value; None where it is not even read."""
    try:
        found = Certificate.from_json(json.dumps(fields))
    except (DataError, InvalidInput):
        return None
    return check(found)


ODD: list[Any] = [
    math.nan, math.inf, -math.inf, -1, 0, 1e308, -1e308, 5e-324, 2**53, 10**400, 2.5, True,
    None, "", "inf", "-inf", "nan", "x", [], {}, [[]], [0.5], [0.9, 0.1], {"kind": "truncated"},
]  # fmt: skip
# These say nothing that is stronger: how it was found, or that more might be provable.
HARMLESS = {"complete"}


def test_odd_values_anywhere_are_refused_or_claim_nothing_new(double: Certificate) -> None:
    fields = double.to_dict()
    assert verdict(fields) is True
    for path in leaves(fields):
        for value in ODD:
            changed = with_entry(fields, path, value)
            if changed == fields:
                continue
            if verdict(changed) and path[-1] not in HARMLESS:
                weaker(double, changed, path)


def weaker(true: Certificate, changed: Any, path: tuple[Any, ...]) -> None:
    """What was accepted after a change claims no more than what was proved."""
    accepted = Certificate.from_dict(changed)
    same_problem = accepted.law == true.law and accepted.radius == true.radius
    assert same_problem, (path, changed)
    mine, own = steps_of(accepted), steps_of(true)
    if path[:2] == ("proof", "steps"):
        # Only a smaller claim about the same step, or a multiplier that is 0 but for rounding.
        assert mine[0].dual_bound <= own[0].dual_bound
        assert mine[0].multipliers == pytest.approx(own[0].multipliers, rel=0, abs=1e-300)
    else:
        # An end of an interval that the proof does not use.
        assert path[1] in ("p", "additional"), path
        assert mine == own


@pytest.mark.parametrize("name", ["law", "radius", "np_radius", "proof", "proof.p", "proof.kind"])
def test_a_missing_entry_is_named(double: Certificate, name: str) -> None:
    fields = double.to_dict()
    *places, name = name.split(".")
    del (fields["proof"] if places else fields)[name]
    with pytest.raises(DataError, match=name):
        Certificate.from_dict(fields)


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "5", '"x"', "{", "{}", "[" * 100_000, '{"a":' * 50_000, "NaN", "1e999",
     "9" * 5000, "\x00", '{"law": 5}'],
)  # fmt: skip
def test_what_is_not_a_certificate_is_a_data_error(text: str) -> None:
    with pytest.raises(DataError):
        Certificate.from_json(text)


@pytest.mark.parametrize(
    "change",
    [
        {"radius": math.nan},
        {"radius": -1.0},
        {"np_radius": math.nan},
        {"np_radius": -1.0},
        {"np_radius": 9.0},
        {"np_radius": 0.1},
        {"status": "certain"},
        {"status": "abstained"},
        {"np_radius": None},
        {"proof": None},
        {"radius": 1e-3},
    ],
    ids=str,
)
def test_records_with_forged_fields_are_refused(
    double: Certificate, change: dict[str, Any]
) -> None:
    forged = replace(double, **change)
    if change == {"radius": 1e-3}:
        # Less than was proved, but below the Neyman-Pearson radius that stands beside it.
        assert "Neyman-Pearson" in str(find_flaw(forged))
    assert not check(forged)


def stepped(found: Certificate, **change: Any) -> Certificate:
    first, *others = steps_of(found)
    return proving(found, steps=(replace(first, **change), *others))


def test_forged_steps_are_refused(double: Certificate) -> None:
    step = steps_of(double)[0]
    own = step.multipliers
    for change in (
        {"dual_bound": 0.6},
        {"dual_bound": 2.0},
        {"dual_bound": math.nan},
        {"radius": step.radius - 1e-9},
        {"radius": 1e-310},
        {"radius": math.inf},
        {"radius": math.nan},
        {"multipliers": ()},
        {"multipliers": own[:2]},
        {"multipliers": (*own, 0.0)},
        {"multipliers": (*own, 1.0)},
        {"multipliers": own[::-1]},
        {"multipliers": (math.nan, *own[1:])},
        {"multipliers": (math.inf, *own[1:])},
        {"multipliers": (-math.inf, *own[1:])},
        {"multipliers": (1e250, -1e250, *own[2:])},
        {"multipliers": tuple(1.001 * value for value in own)},
    ):
        assert not check(stepped(double, **change)), change


def test_no_gap_in_a_chain_is_overlooked(chain: Certificate) -> None:
    assert check(chain)
    steps = steps_of(chain)
    for n in (0, 1, len(steps) // 2, len(steps) - 1):
        assert not check(proving(chain, steps=steps[:n] + steps[n + 1 :])), n
    assert not check(proving(chain, steps=steps[::-1]))


def test_steps_of_no_length_do_not_end_in_a_traceback(chain: Certificate) -> None:
    steps = steps_of(chain)
    tiny = [replace(steps[-1], radius=radius) for radius in (1e-149, 1e-149 * (1 - 1e-15))]
    check(proving(chain, steps=(*steps, *tiny)))
    assert not check(proving(chain, steps=(*tiny, *steps)))
    none = replace(steps[-1], radius=1e-310)
    assert not check(proving(chain, steps=(*steps, none)))


def test_steps_below_a_solid_one_are_not_believed_either(double: Certificate) -> None:
    steps = steps_of(double)
    invented = replace(steps[0], radius=0.3, dual_bound=0.99)
    assert "claims" in str(find_flaw(proving(double, steps=(*steps, invented))))


def test_an_infinite_radius_needs_certainty_under_a_law_of_full_support(sure: Certificate) -> None:
    assert check(sure)
    assert not check(proving(sure, p=Interval(0.999, 1.0)))
    assert not check(stepped(sure, dual_bound=7.0))
    assert not check(stepped(sure, multipliers=(1.0,)))
    ball = Observation(Truncated(SMALL, 0.9), Interval(1.0, 1.0))
    inside = dsrs.certify(SMALL, Interval(0.9, 0.95), ball)
    forged = replace(stepped(inside, radius=math.inf), radius=math.inf)
    assert not check(forged)


def test_a_box_that_no_classifier_fits_proves_nothing() -> None:
    law = Rescaled(SMALL, 0.8)
    box = Interval(0.6, 0.7), Observation(law, Interval(0.999, 1.0))
    step = Step(0.1, (-40.0, 60.0), 1.0)
    forged = Certificate(SMALL, "certified", 0.1, 0.1, Dual(box[0], (box[1],), (step,)))
    assert not check(forged)


def test_a_law_of_another_base_is_a_flaw_not_a_crash(double: Certificate) -> None:
    other = Observation(Truncated(SMALL, 0.6), Interval(0.98, 0.99))
    assert "was made for" in str(find_flaw(proving(double, additional=(other, other))))
