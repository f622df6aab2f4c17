"""Runs of every method are verified from their votes; forged runs are refuted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("flint")

from audit.small_runs import PLANS, Forgery, make_run, rewrite
from dsrs.certifying.again import recertify_run
from dsrs.cli.main import main


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The run of a plan, made once."""
    folder = tmp_path_factory.mktemp("runs")

    def made(name: str) -> Path:
        path = folder / name
        return path if path.exists() else make_run(path, PLANS[name])

    return made


def checked(source: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict]:  # type: ignore[type-arg]
    capsys.readouterr()
    code = main(["check", str(source), "--json", "--quiet", *options])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", PLANS)
def test_every_certificate_of_a_run_is_verified(
    name: str, runs: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = checked(runs(name), capsys)
    reasons = [each["reason"] for each in found["certificates"] if each["reason"]]
    assert (code, reasons, found["refuted"], found["undecided"]) == (0, [], 0, 0)
    assert found["verified"] + found["abstained"] == 3 * len(PLANS[name].methods)
    assert found["verified"] >= 1


def test_the_small_runs_show_every_case(runs: Callable[[str], Path]) -> None:
    """Else the tests above would say nothing of looks, leads and fall-backs."""
    short = Forgery(runs("radius"), 0, "np")
    assert short.certificate["status"] == "short"
    assert len(short.votes["votes"]) > 1
    assert Forgery(runs("leading"), 2, "np").proof["kind"] == "lead"
    assert Forgery(runs("leading"), 2, "np").certificate["radius"] > 0
    fallback = Forgery(runs("fallback"), 1, "rescaled")
    assert fallback.proof["additional"] == []
    assert fallback.certificate["radius"] > 0


def test_tailored_without_a_pilot_is_honest(runs: Callable[[str], Path]) -> None:
    """So few votes leave none for a pilot, and the law is P."""
    taken = Forgery(runs("no pilot"), 1, "tailored")
    assert {unit["purpose"] for unit in taken.votes["votes"]} == {"estimation"}
    assert taken.certificate["radius"] > 0
    assert taken.checked().word == "verified"
    # Votes under P say nothing of a law that nobody chose.
    taken.proof["additional"] = [{"law": {"kind": "rescaled", "beta": 0.45}, "q": taken.proof["p"]}]
    taken.proof["p"] = [0.0, 1.0]
    taken.certificate["np_radius"] = None
    assert taken.checked().word == "refuted"


def test_methods_laws_and_options_that_are_not_known_are_undecided_by_name(
    runs: Callable[[str], Path],
) -> None:
    changes: list[tuple[Callable[[Any], None], str]] = [
        (lambda forged: forged.plan.update(methods=["hoeffding"]), "hoeffding"),
        (lambda forged: forged.plan.update(moonlight=True), "moonlight"),
        (lambda forged: forged.plan.update(target="loudest"), "loudest"),
        (lambda forged: forged.plan["law"].update(norm=1), "norm"),
        (lambda forged: forged.certificate.update(l0_radius=1), "l0_radius"),
        (lambda forged: forged.proof.update(kind="lipschitz"), "lipschitz"),
    ]
    for change, name in changes:
        forged = Forgery(runs("np"), 1, "np")
        forged.sampled = forged.plan
        change(forged)
        forged.method = "hoeffding" if name == "hoeffding" else "np"
        verdict = forged.checked()
        assert (verdict.word, name in verdict.reason) == ("undecided", True), verdict


def test_what_a_certificate_is_about_is_what_the_run_says(runs: Callable[[str], Path]) -> None:
    forged = Forgery(runs("np"), 1, "np")
    true = {"class": forged.votes["target"], "alpha": 0.001, "n": 1000, "seed": 0, "index": 1}
    forged.certificate["subject"] = true | {"method": "np", "model": None, "input": None}
    verdict = forged.checked()
    assert (verdict.word, verdict.subject) == ("verified", forged.certificate["subject"])
    for name, value in (("class", 2), ("alpha", 1e-9), ("n", 10**6), ("seed", 1), ("index", 0)):
        forged.certificate["subject"] = true | {name: value}
        assert f"its subject has {name}" in refuted(forged)


def test_a_run_that_was_certified_again(
    runs: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another alpha, and a ball of P's own votes as the second law."""
    recertify_run(runs("np"), alpha=0.01, q=["truncated:0.5"], output=tmp_path / "again")
    code, found = checked(tmp_path / "again", capsys)
    assert (code, found["verified"], found["abstained"]) == (0, 4, 2)
    forged = Forgery(tmp_path / "again", 1, "truncated")
    forged.proof["additional"][0]["q"][0] += 1e-6
    assert "Q_A" in forged.checked().reason
    forged = Forgery(tmp_path / "again", 1, "truncated")
    forged.plan["alpha"] = 0.005
    assert forged.checked().word == "refuted"


@pytest.mark.parametrize("name", ["double", "fallback", "radii", "grid", "leading"])
def test_exported_tables_keep_whole_proofs(
    name: str, runs: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.csv"
    assert main(["export", str(runs(name)), "--output", str(table)]) == 0
    code, found = checked(table, capsys)
    claimed = found["verified"] + found["abstained"]
    assert (code, claimed) == (0, 3 * len(PLANS[name].methods)), found


def refuted(forged: Forgery) -> str:
    verdict = forged.checked()
    assert verdict.word == "refuted", verdict
    return verdict.reason


def test_bounds_that_do_not_come_from_the_votes(runs: Callable[[str], Path]) -> None:
    forged = Forgery(runs("np"), 1, "np")
    assert forged.checked().word == "verified"
    forged.proof["p"][0] += 1e-9
    assert "votes" in refuted(forged)
    forged = Forgery(runs("double"), 1, "rescaled")
    forged.proof["p"][1] -= 1e-9
    assert "P_A" in refuted(forged)
    forged = Forgery(runs("double"), 1, "truncated:0.6")
    forged.proof["additional"][0]["q"][1] = forged.proof["additional"][0]["q"][0]
    assert "Q_A" in refuted(forged)
    forged = Forgery(runs("fallback"), 1, "rescaled")
    forged.proof["p"][0] += 1e-9
    assert "fall-back" in refuted(forged)
    forged = Forgery(runs("tailored"), 1, "tailored")
    assert forged.proof["additional"], "the pilot chose a law"
    forged.proof["p"][0] = 0.5
    assert "no votes" in refuted(forged)


def test_a_smaller_alpha_than_was_spent(runs: Callable[[str], Path]) -> None:
    for name, method in (("np", "np"), ("double", "rescaled"), ("radii", "np")):
        forged = Forgery(runs(name), 1, method)
        forged.plan["alpha"] *= 0.999
        assert "votes" in refuted(forged)


def test_another_law_than_was_sampled(runs: Callable[[str], Path]) -> None:
    forged = Forgery(runs("np"), 1, "np")
    forged.plan["law"]["sigma"] = 0.4
    assert "smoothing law" in refuted(forged)
    forged = Forgery(runs("double"), 1, "tailored")
    forged.votes["choices"]["tailored"] = {"kind": "rescaled", "beta": 0.3}
    assert "not the one that was sampled" in refuted(forged)
    forged = Forgery(runs("double"), 1, "rescaled")
    for unit in forged.votes["votes"]:
        if unit["law"] is not None and unit["law"]["kind"] == "rescaled":
            unit["law"]["beta"] = 0.41
    assert "no counts" in refuted(forged)
    forged = Forgery(runs("double"), 1, "truncated:heuristic")
    assert forged.checked().word == "verified"
    forged.votes["choices"]["truncated:heuristic"] = {"kind": "truncated", "percentile": 0.5}
    assert "chosen" in refuted(forged)


def test_votes_that_do_not_fit(runs: Callable[[str], Path]) -> None:
    forged = Forgery(runs("np"), 1, "np")
    forged.votes["votes"][0]["start"] = 1
    assert "missing" in refuted(forged)
    forged = Forgery(runs("np"), 1, "np")
    forged.votes["votes"][0]["hits"][0] -= 1
    assert "hits" in refuted(forged)
    forged = Forgery(runs("np"), 1, "np")
    forged.votes = {**forged.votes, "target": (forged.votes["target"] + 1) % 3}
    assert refuted(forged)
    forged = Forgery(runs("leading"), 2, "np")
    selection = next(u for u in forged.votes["votes"] if u["purpose"] == "selection")
    selection["purpose"] = "estimation"
    assert refuted(forged)


def test_a_lead_and_its_rivals(runs: Callable[[str], Path]) -> None:
    forged = Forgery(runs("leading"), 2, "np")
    forged.proof["rival"] -= 1e-6
    assert "rivals" in refuted(forged)
    forged = Forgery(runs("leading"), 2, "np")
    forged.plan["classes"] = "top"
    assert "other form" in refuted(forged)


def test_a_lead_of_two_laws_and_its_rivals(runs: Callable[[str], Path]) -> None:
    for name in ("truncated", "rescaled"):
        honest = Forgery(runs("leading double"), 2, name)
        assert honest.proof["kind"] == "lead"
        assert honest.certificate["radius"] > 0
        assert honest.checked().word == "verified"
        for change in ("lower", "rival", "p lower", "p rival", "no p"):
            forged = Forgery(runs("leading double"), 2, name)
            if change == "no p":
                forged.proof["p"] = None
            elif change[0] == "p":
                place = int(change == "p rival")
                forged.proof["p"][place] += (1e-6, -1e-6)[place]
            else:
                forged.proof[change] += 1e-6 if change == "lower" else -1e-6
            assert forged.checked().word == "refuted", change


def test_short_is_said_where_a_radius_was_asked_for(runs: Callable[[str], Path]) -> None:
    forged = Forgery(runs("radius"), 0, "np")
    forged.certificate["status"] = "abstained"
    assert "asked for" in refuted(forged)


def test_looks_and_their_parts_of_alpha(runs: Callable[[str], Path]) -> None:
    """A bound at a look has that look's part of alpha, not all of it."""
    certified = Forgery(runs("radius"), 1, "np")
    assert certified.certificate["status"] == "certified"
    assert certified.checked().word == "verified"
    (taken,) = {
        sum(unit["counts"])
        for unit in certified.votes["votes"]
        if unit["purpose"] == "estimation" and unit["law"] is None
    }
    assert taken < certified.plan["n"]
    # With more looks to come each has less of alpha.
    certified.plan["n"] *= 100
    assert "votes" in refuted(certified)
    # Votes that stop between the looks of a plan prove nothing.
    stopped = Forgery(runs("radius"), 1, "np")
    stopped.plan["batch"] = 128
    assert "look" in refuted(stopped)


def test_votes_on_a_grid_are_charged(runs: Callable[[str], Path]) -> None:
    for method in ("np", "tailored", "rescaled"):
        forged = Forgery(runs("tailored" if method == "tailored" else "grid"), 1, method)
        assert forged.checked().word == "verified"
        grid = forged.certificate["grid"]
        variation, grid["variation"] = grid["variation"], grid["variation"] * 0.9
        assert "costs more" in refuted(forged)
        # The bound that the votes give, without its charge, is too large.
        grid["variation"] = variation
        place = forged.proof if method != "tailored" else forged.proof["additional"][0]
        place["p" if method != "tailored" else "q"][0] += 0.5 * variation
        assert "does not follow from the votes" in refuted(forged)
    forged = Forgery(runs("grid"), 1, "np")
    forged.certificate["grid"]["step"] *= 2
    assert "grid" in refuted(forged)
    forged.certificate["grid"] = None
    assert "grid" in refuted(forged)


def test_the_radius_of_a_moved_input_is_less_by_the_distance(
    runs: Callable[[str], Path],
) -> None:
    forged = Forgery(runs("grid"), 2, "np")
    assert forged.certificate["grid"]["moved"] > 0
    moved = Forgery(runs("grid"), 1, "np")
    assert moved.checked().word == "verified"
    moved.certificate["grid"]["moved"] += 1e-12
    assert "below the radius" in refuted(moved)


def test_a_forged_run_folder_is_refuted_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(tmp_path / "run", PLANS["np"])
    rewrite(folder, 1, "radius = 1.1 * radius")
    code, found = checked(folder, capsys)
    assert (code, found["refuted"], found["verified"], found["abstained"]) == (1, 1, 1, 1)
    assert main(["check", str(folder), "--quiet"]) == 1
    said = capsys.readouterr().out
    assert "REFUTED: input 1, np" in said
    assert "radius" in said
