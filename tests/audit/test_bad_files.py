"""Files that nobody vouches for: every entry ends in a verdict, never in a traceback."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("flint")

from audit.small_runs import PLANS, Forgery, make_run
from dsrs import Interval, Observation, Truncated, certify
from dsrs.audit.checking import check_certificate
from dsrs.audit.claims import Claim
from dsrs.audit.items import items_of_json
from dsrs.audit.kinds import proof_of
from dsrs.audit.methods import BoundsFromVotes
from dsrs.audit.verdicts import Refuted, Undecided
from dsrs.cli.main import main
from dsrs.laws import GeneralizedGaussian, Weighted
from dsrs.proofs.certification import certificate_of
from dsrs.proofs.lead import find_lead

PLAIN, SMALL = GeneralizedGaussian(20, 0.5), GeneralizedGaussian(20, 0.5, 6.0)
ODD: list[Any] = [
    math.nan, math.inf, -math.inf, -1, 0, 1e308, -1e308, 5e-324, 2**53, 10**400, -(10**400), 2.5,
    True, None, "", "inf", "-inf", "nan", "x", [], {}, [[]], [0.5], [0.9, 0.1], {"kind": "dual"},
]  # fmt: skip
FEW_ODD: list[Any] = [None, -1, 10**400, math.nan, "x", [], {}, 1e308]
SECONDS = 2.0  # for one entry, so that these tests are quick


def weighted() -> Observation:
    law = Weighted(SMALL, (2.0, 5.0, 9.0), (0.3, 0.1, -2.0), inner=0.0, outer=-3.0)
    return Observation(law, Interval(0.95, 1.0))


TRUE = {
    "alone": certify(PLAIN, Interval(0.93, 0.95)),
    "truncated": certify(
        SMALL, Interval(0.93, 0.95), Observation(Truncated(SMALL, 0.6), Interval(0.98, 0.99))
    ),
    "weighted": certify(SMALL, Interval(0.0, 1.0), weighted()),
    "lead": certificate_of(SMALL, find_lead(SMALL, 0.5, 0.2)),
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value inside a JSON value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in entries:
        yield (*path, key)
        if isinstance(entry, (dict, list)):
            yield from places(entry, (*path, key))


def changed(fields: Any, path: tuple[Any, ...], value: Any) -> Any:
    found = copy.deepcopy(fields)
    place = found
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return found


def without(fields: Any, path: tuple[Any, ...]) -> Any:
    found = copy.deepcopy(fields)
    place = found
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return found


def ends_in_a_verdict(fields: Any) -> str:
    began = time.monotonic()
    verdict = check_certificate(fields, seconds=SECONDS)
    # Half as much again by the clock, and a while for what cannot be interrupted.
    assert time.monotonic() - began < 1.5 * SECONDS + 1
    assert "this check failed" not in verdict.reason, (fields, verdict)
    assert bool(verdict.reason) == (verdict.word in ("refuted", "undecided"))
    return verdict.word


@pytest.mark.parametrize("name", TRUE)
def test_odd_values_anywhere_end_in_a_verdict(name: str) -> None:
    """And claim nothing new: whatever is verified has the radius that was proved, or less."""
    true = json.loads(json.dumps(TRUE[name].to_dict()))
    assert ends_in_a_verdict(true) == "verified"
    for path in places(true):
        for value in ODD:
            fields = changed(true, path, value)
            word = ends_in_a_verdict(fields)
            if path[0] == "radius" and word == "verified":
                assert fields["radius"] <= true["radius"]
        if isinstance(path[-1], str):
            # Fields that need not be there say nothing when they are gone.
            optional = {"linf_radius", "l1_radius", "complete", "grid", "eta", "inner"}
            if true["proof"] is not None and true["proof"]["kind"] == "lead":
                optional.add("p")  # of double sampling alone
            verified = ends_in_a_verdict(without(true, path)) == "verified"
            assert not verified or path[-1] in {*optional, "subject", "q", "outer"}, path


@pytest.mark.parametrize("method", ["np", "tailored", "rescaled"])
def test_odd_values_in_plans_and_votes_end_in_a_verdict(method: str, tmp_path: Path) -> None:
    true = Forgery(make_run(tmp_path / "run", PLANS["grid"]), 1, method)
    assert true.checked()
    claim = Claim.read(true.certificate)
    for part in ("plan", "votes"):
        fields = getattr(true, part)
        # Two of many bins stand for all.
        paths = [path for path in places(fields) if not isinstance(path[-1], int) or path[-1] < 2]
        for path in paths:
            for value in FEW_ODD:
                parts = {"plan": true.plan, "votes": true.votes}
                parts[part] = changed(fields, path, value)
                bounds = BoundsFromVotes(parts["plan"], true.sampled, method, parts["votes"])
                with contextlib.suppress(Refuted, Undecided):
                    bounds(claim, proof_of(claim))


def test_the_rest_of_a_file_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    true = TRUE["alone"].to_json()
    twice = true[:-1] + ', "radius": 0.1}'
    lines = [
        "{", "[" * 100_000, "3", "null", '{"law": NaN}', "9" * 5000, twice,
        true.replace('"sigma": 0.5', '"sigma": Infinity'), true,
    ]  # fmt: skip
    (tmp_path / "file.json").write_text("\n".join(lines))
    assert main(["check", str(tmp_path / "file.json"), "--json", "--quiet"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["refuted"], found["verified"]) == (len(lines) - 1, 1)
    reasons = [each["reason"] for each in found["certificates"]]
    assert all("this is not a certificate" in reason for reason in reasons[:-1])
    assert "comes twice" in reasons[6]


def test_laws_with_extreme_numbers_end_in_a_verdict() -> None:
    true = json.loads(json.dumps(TRUE["weighted"].to_dict()))
    own = true["proof"]["additional"][0]["law"]
    for name, index, value in (
        ("knots", 2, 10**400), ("knots", 2, 1e308), ("knots", 0, 5e-324), ("log_weights", 0, 1e308),
        ("log_weights", 2, -1e308), ("log_weights", 1, "-inf"), ("log_weights", 1, "inf"),
    ):  # fmt: skip
        law = copy.deepcopy(own)
        law[name][index] = value
        fields = copy.deepcopy(true)
        fields["proof"]["additional"][0]["law"] = law
        ends_in_a_verdict(fields)
    for law in (
        {"kind": "rescaled", "beta": 1e200}, {"kind": "rescaled", "beta": 1e-200},
        {"kind": "rescaled", "beta": 5e-324}, {"kind": "truncated", "percentile": 5e-324},
        own | {"inner": 1e300}, own | {"outer": 1e300}, own | {"outer": -1e300},
    ):  # fmt: skip
        fields = copy.deepcopy(true)
        fields["proof"]["additional"][0]["law"] = law
        ends_in_a_verdict(fields)


def test_a_json_list_holds_certificates_too() -> None:
    true = TRUE["alone"].to_json()
    words = [item.check().word for item in items_of_json(f"[{true}, {{}}]")]
    assert words == ["verified", "refuted"]


def test_the_command_says_what_each_change_comes_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = json.loads(json.dumps(TRUE["truncated"].to_dict()))
    proof = fields["proof"]

    def rescaled(beta: float) -> dict[str, Any]:
        return {"additional": [{"law": {"kind": "rescaled", "beta": beta}, "q": [0.5, 0.6]}]}

    for change, code in (
        ({}, 0),
        ({"np_radius": 0.0}, 0),  # less than is proved
        ({"np_radius": None}, 0),
        ({"status": "sure"}, 3),
        ({"l1_radius": 9.0}, 1),
        ({"linf_radius": 9.0}, 1),
        ({"format": 4}, 3),
        ({"proof": {"kind": "oracle"}}, 3),
        ({"proof": proof | {"rival": 0.1}}, 3),
        ({"proof": proof | {"additional": [None]}}, 1),
        ({"proof": proof | {"additional": [5, "x"]}}, 1),
        ({"law": {"d": math.inf, "sigma": 1, "k": 0}}, 1),
        ({"law": {"d": 10**400, "sigma": 1, "k": 0}}, 1),
        ({"law": {"d": 20, "sigma": 1.0, "k": 10.0}}, 1),
        ({"proof": proof | rescaled(1e200)}, 1),
        ({"proof": proof | rescaled(1e-200)}, 1),
    ):
        monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(fields | change)))
        assert main(["check", "-", "--quiet"]) == code, change
    (tmp_path / "deep.json").write_text("[" * 100_000)
    assert main(["check", str(tmp_path / "deep.json")]) == 2
    assert "Traceback" not in capsys.readouterr().err
