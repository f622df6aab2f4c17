"""Plans: what they refuse, their names of methods, and that they survive JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsrs.errors import DataError, InvalidInput
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import Plan, default_batch, methods_of

LAW = GeneralizedGaussian(784, 0.5, 380)


@given(
    n=st.integers(2, 10**7),
    alpha=st.floats(1e-12, 0.5),
    share=st.floats(0.3, 0.7),
    seed=st.integers(0, 2**80),
    flags=st.tuples(st.booleans(), st.booleans()),
)
def test_a_plan_survives_json(
    n: int, alpha: float, share: float, seed: int, flags: tuple[bool, bool]
) -> None:
    plan = Plan(
        LAW,
        n=n,
        alpha=alpha,
        alpha_share=share,
        seed=seed,
        methods=("truncated:0.6", "np", "rescaled:0.8x"),
        fallback=flags[0],
        early_stop=flags[1],
    )
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
    assert plan.n_first + plan.n_second == n


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "`n` must be a whole number >= 1, got 0"),
        ({"n": 1}, "cannot be split"),
        ({"n": 2.5}, "`n` must be a whole number"),
        ({"n": 2**33}, "must not exceed"),
        ({"n0": 0}, "`n0` must be a whole number >= 1"),
        ({"alpha": 1}, r"`alpha` must be in \(0, 1\), got 1"),
        ({"alpha": 0}, "`alpha` must be"),
        ({"alpha": float("nan")}, "`alpha` must be"),
        ({"seed": -1}, "`seed` must be a whole number from 0"),
        ({"seed": 2**128}, "`seed` must be a whole number from 0"),
        ({"family_alpha": 0.1}, "belong together"),
        ({"family_alpha": 0.1, "family_size": 101}, "more than `family_alpha` = 0.1 for all"),
        ({"family_alpha": 1.5, "family_size": 2}, "`family_alpha` must be in"),
        ({"family_alpha": 0.1, "family_size": 0}, "`family_size` must be a whole number >= 1"),
        ({"sample_share": 1.0}, "`sample_share` must be"),
        ({"target": "other"}, "`target` must be label or predicted"),
        ({"batch": 100}, "`batch` must be a power of two"),
        ({"batch": 4096}, "`batch` must be a power of two up to 1024"),
        ({"methods": ("rescaled:0.8x", "rescaled:0.8x")}, "names one twice: rescaled:0.8x"),
        ({"methods": ()}, "at least one method, such as np"),
    ],
)
def test_a_plan_refuses_what_cannot_work(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        methods_of(Plan(LAW, **change))


def test_misspelt_methods_are_refused_before_sampling() -> None:
    for text in ("truncated", "trunc:0.5", "neyman", "double-sampling"):
        with pytest.raises(InvalidInput, match=r"a method is np, .*, or a law .*, got '"):
            methods_of(Plan(LAW, (text,)))
    for text in ("rescaled:x", "rescaled:0.8y"):
        with pytest.raises(InvalidInput, match=r"expected a number after 'rescaled:'"):
            methods_of(Plan(LAW, (text,)))


def test_methods_are_named_by_their_law() -> None:
    assert Plan(LAW).names == ("np", "tailored")
    assert Plan(LAW, ("truncated:heuristic",)).names == ("truncated",)
    plan = Plan(LAW, ("np", "truncated:0.5", "truncated:0.7", "rescaled:0.8x"))
    assert list(methods_of(plan)) == ["np", "truncated:0.5", "truncated:0.7", "rescaled"]
    assert plan.laws == ("truncated:0.5", "truncated:0.7", "rescaled:0.8x")
    assert [method.text for method in methods_of(plan).values()] == list(plan.methods)


def test_one_vote_is_enough_without_a_second_law() -> None:
    assert Plan(LAW, ("np",), n=1).laws == ()


def test_an_unknown_field_is_not_dropped() -> None:
    fields = Plan(LAW).to_dict()
    with pytest.raises(DataError, match="later"):
        Plan.from_dict(fields | {"later": 1})


def test_a_batch_fits_the_memory() -> None:
    assert [default_batch(d) for d in (2, 784, 3072, 150_528, 10**7)] == [256, 256, 256, 16, 16]
