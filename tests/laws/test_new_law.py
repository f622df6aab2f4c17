"""The door for new laws: a law in a file of its own, registered, sampled and kept."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats

from dsrs.errors import InvalidInput, UnknownLaw
from dsrs.laws import (
    LAW_KINDS,
    GeneralizedGaussian,
    Truncated,
    law_from_dict,
    parse_additional_law,
    register,
    sample_additional,
)
from dsrs.noise import Stream
from dsrs.proofs import Certificate, Dual, Interval, Observation
from dsrs.votes import ESTIMATION, Votes
from laws.annulus import Annulus

BASE = GeneralizedGaussian(20, 0.5, 4.0)


@pytest.fixture
def annulus() -> Iterator[Annulus]:
    register(Annulus)
    yield Annulus(BASE, 0.1, 0.7)
    del LAW_KINDS[Annulus.kind]


def test_it_is_read_back_from_text_and_json(annulus: Annulus) -> None:
    assert parse_additional_law("annulus:0.1-0.7", BASE) == annulus
    assert parse_additional_law(annulus.text, BASE) == annulus
    assert law_from_dict(json.loads(json.dumps(annulus.to_dict())), BASE) == annulus
    with pytest.raises(UnknownLaw, match="annulus"):
        parse_additional_law("annulus:wide", BASE)
    with pytest.raises(InvalidInput, match="low, high"):
        law_from_dict({"kind": "annulus", "low": 0.1}, BASE)


def test_it_is_sampled_from_its_own_shells(annulus: Annulus) -> None:
    noise = sample_additional(annulus, 4000, np.random.default_rng(1))
    norms = np.linalg.norm(noise, axis=1)
    assert stats.kstest(norms, annulus.radial_cdf).pvalue > 1e-3
    low, high = BASE.radial_quantile([0.1, 0.7])
    assert low <= norms.min() < norms.max() <= high


def test_it_travels_with_records(annulus: Annulus) -> None:
    seen = Observation(annulus, Interval(0.9, 1.0))
    made = Certificate(BASE, "abstained", 0.0, 0.0, Dual(Interval(0.8, 0.9), (seen,)))
    assert Certificate.from_json(made.to_json()) == made
    votes = Votes(Stream(ESTIMATION, annulus), 0, (3, 0), (3,) + (0,) * 63, (0,) * 64)
    assert Votes.from_dict(json.loads(json.dumps(votes.to_dict())), BASE) == votes


def test_a_kind_is_taken_once(annulus: Annulus) -> None:
    class Other(Annulus):
        kind = "truncated"

    with pytest.raises(InvalidInput, match="already"):
        register(Other)
    assert LAW_KINDS["truncated"] is Truncated
