"""The JSON schema that is shipped with the package, against the certificates that it writes."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import numpy as np
import pytest

import dsrs
from dsrs import Certificate, GeneralizedGaussian, Interval, Observation, Rescaled, Truncated
from dsrs.errors import DataError
from dsrs.laws import Grid
from dsrs.proofs import PROOF_KINDS, certificate_of, find_lead
from known_classifiers import Linear

SCHEMA = json.loads(files("dsrs.proofs").joinpath("certificate.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
PLAIN, WIDE = GeneralizedGaussian(16, 0.5), GeneralizedGaussian(16, 0.5, 4)
BALL, NARROW = Truncated(WIDE, 0.6), Rescaled(WIDE, 0.4)


def of_votes() -> Certificate:
    smoothed = dsrs.SmoothedClassifier(
        Linear(16, 0.4), PLAIN, n=2000, method="np", seed=3, grid=Grid(0.01, 0.001)
    )
    return smoothed.certify(np.full(16, 0.1, np.float32), 1)


CERTIFICATES = {
    "Neyman-Pearson": dsrs.certify(WIDE, Interval(0.9, 0.95)),
    "two laws": dsrs.certify(
        WIDE,
        Interval(0.93, 0.95),
        Observation(BALL, Interval(0.96, 0.99)),
        Observation(NARROW, Interval(0.94, 1.0)),
    ),
    "nothing known of P": dsrs.certify(
        WIDE, Interval(0.0, 1.0), Observation(NARROW, Interval(0.99, 1.0))
    ),
    "certain": dsrs.certify(PLAIN, Interval(1.0, 1.0)),
    "abstained": dsrs.certify(PLAIN, Interval(0.3, 0.4)),
    "lead": certificate_of(PLAIN, find_lead(PLAIN, 0.45, 0.2)),
    "lead under a law": certificate_of(WIDE, find_lead(WIDE, 0.45, 0.2, Rescaled(WIDE, 0.55))),
    "of votes": of_votes(),
}


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    kinds = [
        definition["properties"]["kind"]
        for definition in SCHEMA["$defs"].values()
        if "kind" in definition.get("properties", {})
    ]
    named = {name for kind in kinds for name in kind.get("enum", [kind.get("const")])}
    assert set(PROOF_KINDS) <= named


@pytest.mark.parametrize("name", CERTIFICATES)
def test_every_certificate_follows_the_schema_and_comes_back(name: str) -> None:
    certificate = CERTIFICATES[name]
    VALIDATOR.validate(json.loads(certificate.to_json()))
    assert Certificate.from_json(certificate.to_json()) == certificate


def changed(name: str, *path: Any, value: Any) -> dict[str, Any]:
    fields: Any = json.loads(CERTIFICATES[name].to_json())
    place = fields
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return dict(fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (changed("lead", "status", value="sure"), "`status` must be one of certified, short"),
        (changed("lead", "radius", value="far"), "`radius` must be a number, got 'far'"),
        (changed("lead", "format", value=4), "certificates of format 3, got 4"),
        (changed("lead", "proof", "kind", value=5), "`kind` of a proof must be one of dual, lead"),
        (changed("lead", "proof", "steps", value={}), "`steps` must be a list"),
        (changed("lead", "proof", "more", value=1), "has no entry 'more'"),
        (changed("two laws", "proof", "p", value=[0.5]), "`p` must be a list of 2"),
        (changed("two laws", "proof", "p", value=[0.5, 1.5]), "`upper` must be a probability"),
        (
            changed("two laws", "proof", "steps", 0, "multipliers", 1, value="x"),
            r"multipliers\[1\]",
        ),
        (
            changed("of votes", "subject", "alpha", value=1.5),
            r"`alpha` must be in \(0, 1\), got 1.5",
        ),
        (changed("of votes", "subject", "class", value=-1), "must not be negative, got -1"),
        (changed("of votes", "subject", "n", value=2.5), "`subject.n` must be a whole number"),
        (changed("of votes", "subject", "seed", value=-1), r"from 0 to 2\^128 - 1, got -1"),
        (changed("of votes", "grid", "step", value=None), "`grid.step` must be a number"),
        (changed("of votes", "surprise", value=1), "has no entry 'surprise'"),
    ],
)
def test_what_is_no_certificate_is_refused_by_schema_and_reader(
    fields: dict[str, Any], message: str
) -> None:
    assert not VALIDATOR.is_valid(fields)
    with pytest.raises(DataError, match=message):
        Certificate.from_dict(fields)
