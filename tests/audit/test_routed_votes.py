"""The bounds of a routed certificate must follow from the votes of router and experts."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dsrs
from dsrs.audit.checking import check_certificate
from dsrs.audit.items import item_of_row, items_of_run
from dsrs.audit.methods import BoundsFromVotes
from dsrs.audit.run_folder import RunFolder
from dsrs.cli.main import main
from routing import planted

WAVERING = np.array([-0.3, 0.6, 0.0, 0.0], "f4")


def made() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """A plan, the votes of an input and its certificate, whose rival was asked."""
    experts = [dsrs.smooth(planted.expert(), sigma) for sigma in (0.25, 1.0)]
    router = dsrs.smooth(planted.router(), 0.5)
    routed = dsrs.RoutedClassifier(router, experts, n=2000, seed=1, method="np")
    votes = routed.sample(WAVERING, 1).to_dict()
    return routed.plan.to_dict(), votes, routed.certify(WAVERING, 1).to_dict()


def word(plan: dict[str, Any], votes: dict[str, Any], certificate: dict[str, Any]) -> str:
    bounds = BoundsFromVotes(plan, plan, "np", votes)
    return check_certificate(certificate, bounds=bounds).word


def test_votes_of_router_and_experts_give_the_bounds() -> None:
    assert word(*made()) == "verified"


def test_a_row_names_no_bound_that_a_routed_proof_does_not_start_from() -> None:
    certificate = dsrs.Certificate.from_dict(made()[2])
    grid, proof = certificate.grid, certificate.proof
    assert grid is not None
    assert proof is not None
    row = {
        **certificate.law.to_dict(),
        **proof.columns(),
        **{"radius": certificate.radius, "status": certificate.status, "np_radius": ""},
        **{"grid": grid.step, "moved": grid.moved},
    }
    assert item_of_row("row", row).check().word == "verified"
    for cells in ({"p_lower": 0.99}, {"p_upper": 0.9}, {"q_lower": 0.9}, {"rival": 0.1}):
        assert item_of_row("row", row | cells).check().word == "refuted", cells


def _moved(place: int, purpose: str) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    """A tenth of the hits of a stream were misses."""

    def change(votes: dict[str, Any], certificate: dict[str, Any]) -> None:
        target = certificate["proof"]["named"] if place == 0 else votes["target"]
        for unit in votes["votes"]:
            if unit["classifier"] == place and unit["purpose"] == purpose:
                counts, hits = unit["counts"], unit["hits"]
                moved = counts[target] // 10
                counts[target] -= moved
                counts[1 - target] += moved
                for b, hit in enumerate(hits):
                    taken = min(hit, moved)
                    hits[b], moved = hit - taken, moved - taken

    return change


def _another_expert(votes: dict[str, Any], certificate: dict[str, Any]) -> None:
    for unit in votes["votes"]:
        if unit["classifier"] == 0 and unit["purpose"] == "selection":
            unit["counts"].reverse()


def _another_noise(votes: dict[str, Any], certificate: dict[str, Any]) -> None:
    for unit in votes["votes"]:
        if unit["classifier"] == 2:
            unit["base"]["sigma"] = 0.5


def _all_of_alpha_twice(votes: dict[str, Any], certificate: dict[str, Any]) -> None:
    rival = certificate["proof"]["experts"][1]
    rival["alpha"], rival["router_alpha"] = 0.0009, 0.0001


FORGED = {
    "votes of the named expert": _moved(1, "estimation"),
    "votes of the rival": _moved(2, "estimation"),
    "votes of the router": _moved(0, "estimation"),
    "another named expert": _another_expert,
    "the noise of the rival": _another_noise,
    "shares that the plan does not fix": _all_of_alpha_twice,
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_votes_are_refuted(name: str) -> None:
    plan, votes, certificate = copy.deepcopy(made())
    FORGED[name](votes, certificate)
    assert word(plan, votes, certificate) == "refuted"


@pytest.mark.parametrize("target", ["label", "predicted"])
def test_a_plain_expert_that_is_named_claims_nothing(target: str, tmp_path: Path) -> None:
    """It has one vote without noise and none that select; that was refuted."""
    (tmp_path / "routed").mkdir()
    experts = [f'[[experts]]\nmodel = "{planted.__file__}:expert"\nsigma = {s}' for s in (0, 0.5)]
    router = f'[router]\nmodel = "{planted.__file__}:router"\nsigma = 0.5'
    (tmp_path / "routed" / "route.toml").write_text("\n".join([router, *experts]) + "\n")
    np.savez(
        tmp_path / "data.npz", images=np.array([[-2, 2, 0, 0], [2, 2, 0, 0]], "f4"), labels=[1, 1]
    )
    words = ["--model", str(tmp_path / "routed"), "--data", str(tmp_path / "data.npz")]
    words += ["--bounds", "-4", "4", "--n", "500", "--q", "none", "--target", target, "--quiet"]
    assert main(["certify", *words, "--output", str(tmp_path / "run")]) == 0
    run = RunFolder(tmp_path / "run")
    found = [item.check() for item in items_of_run(tmp_path / "run")]
    assert [verdict.word for verdict in found] == ["abstained", "verified"]
    forged = {**run.votes(0), "predicted": 0}
    bounds = BoundsFromVotes(run.plan, run.sampled, "np", forged)
    assert check_certificate(run.certificate(0, "np"), bounds=bounds).word == "refuted"


def test_the_noise_of_router_and_experts_is_charged_in_a_file_too() -> None:
    certificate = made()[2]
    assert check_certificate(certificate).word == "verified"
    certificate["grid"]["variation"] *= 0.9
    assert "noise on the grid is charged" in check_certificate(certificate).reason


@pytest.mark.parametrize(("share", "other"), [("alpha", "router_alpha"), ("router_alpha", "alpha")])
def test_no_votes_show_a_bound_at_a_share_of_alpha_that_is_nearly_none(
    share: str, other: str
) -> None:
    """The shares add up to less than alpha."""
    certificate = made()[2]
    (rival,) = (part for part in certificate["proof"]["experts"] if part["excluded"])
    assert rival["proof"] is not None
    certificate["subject"]["n"] = 1000
    assert check_certificate(certificate).word == "verified"
    rival[share], rival[other] = 1e-300, certificate["proof"]["alpha"] / 2
    verdict = check_certificate(certificate)
    assert "no 1000 votes show" in verdict.reason
    assert "at alpha = 1e-300" in verdict.reason
