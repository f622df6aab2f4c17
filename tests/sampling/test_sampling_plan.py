"""Plans and vote records: what they refuse, and that they survive JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dsrs.sampling.plan import SamplingPlan, default_batch
from dsrs.sampling.votes import SampledInput, Votes
from hypothesis import given
from hypothesis import strategies as st

from dsrs.errors import DataError, InvalidInput, UnknownLaw
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, Truncated

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
    plan = SamplingPlan(
        LAW,
        n=n,
        alpha=alpha,
        alpha_share=share,
        seed=seed,
        additional=("truncated:0.6", "rescaled:0.8x"),
        fallback=flags[0],
        early_stop=flags[1],
    )
    assert SamplingPlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
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
        ({"seed": -1}, "`seed` must be a whole number >= 0"),
        ({"sample_share": 1.0}, "`sample_share` must be"),
        ({"target": "other"}, "`target` must be 'label' or 'predicted'"),
        ({"batch": 100}, "`batch` must be a power of two"),
        ({"batch": 4096}, "`batch` must be a power of two up to 1024"),
        ({"additional": ("rescaled:0.8x", "rescaled:0.8x")}, "names a law twice"),
        ({"additional": (), "neyman_pearson": False}, "nothing to certify with"),
    ],
)
def test_a_plan_refuses_what_cannot_work(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        SamplingPlan(LAW, **change)


def test_misspelt_laws_are_refused_before_sampling() -> None:
    for text in ("truncated", "trunc:0.5", "rescaled:x", "rescaled:0.8y"):
        with pytest.raises(UnknownLaw):
            SamplingPlan(LAW, additional=(text,))


def test_methods_are_named_by_their_law() -> None:
    assert SamplingPlan(LAW).methods == ("np", "truncated")
    plan = SamplingPlan(LAW, additional=("truncated:0.5", "truncated:0.7", "rescaled:0.8x"))
    assert plan.methods == ("np", "truncated:0.5", "truncated:0.7", "rescaled")
    alone = SamplingPlan(LAW, additional=())
    assert (alone.methods, alone.n_first, alone.n_second) == (("np",), alone.n, 0)


def test_an_unknown_field_is_not_dropped() -> None:
    fields = SamplingPlan(LAW).to_dict()
    with pytest.raises(DataError, match="later"):
        SamplingPlan.from_dict(fields | {"later": 1})


def test_a_batch_fits_the_memory() -> None:
    assert [default_batch(d) for d in (2, 784, 3072, 150_528, 10**7)] == [256, 256, 256, 16, 16]


def stream(hits: int = 3, q: AdditionalLaw | None = None) -> Votes:
    rest = (0,) * 63
    return Votes("p1", counts=(2, 3), trials=(5, *rest), hits=(hits, *rest), q=q)


def test_votes_survive_json() -> None:
    sampled = SampledInput(
        index=4,
        label=None,
        predicted=1,
        target=1,
        votes=(stream(), stream(q=Truncated(LAW, 0.1 + 0.2))),
        stopped=True,
        seconds=1 / 3,
    )
    fields = json.loads(json.dumps(sampled.to_dict()))
    assert SampledInput.from_dict(fields, LAW) == sampled
    fields["votes"][1]["q"] = ["truncated", 0.1 + 0.2]  # as the first version wrote it
    assert SampledInput.from_dict(fields, LAW) == sampled
    assert sampled.votes[0].total == 5
    assert sampled.votes[0].successes == 3
    assert sampled.stream("p2") is None


def test_votes_that_contradict_themselves_are_refused() -> None:
    with pytest.raises(InvalidInput, match="between 0 and `trials`"):
        stream(hits=6)
    with pytest.raises(InvalidInput, match="64 bins"):
        Votes("p1", (1,), (1,), (1,))
    with pytest.raises(InvalidInput, match="count the same votes"):
        Votes("p1", (1, 1), (1,) + (0,) * 63, (1,) + (0,) * 63)
    with pytest.raises(DataError, match="one stream of votes"):
        Votes.from_dict({"stream": "p1"}, LAW)
    with pytest.raises(DataError, match="one sampled input"):
        SampledInput.from_dict({"index": 1}, LAW)
