"""Runs of every kind are verified from their votes; forged runs are refuted."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("flint")

from audit.small_runs import PLANS, Forgery, make_run, rewrite
from dsrs.certifying.again import recertify_run
from dsrs.cli.main import main
from dsrs.store.schema import STORE_NAME


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The run of a plan, made once."""
    folder = tmp_path_factory.mktemp("runs")

    def made(name: str) -> Path:
        path = folder / name
        return path if path.exists() else make_run(path, PLANS[name])

    return made


def audited(source: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict]:  # type: ignore[type-arg]
    capsys.readouterr()
    code = main(["audit", str(source), "--json", "--quiet", *options])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", PLANS)
def test_every_certificate_of_a_run_is_verified(
    name: str, runs: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = audited(runs(name), capsys)
    reasons = [each["reason"] for each in found["certificates"] if each["reason"]]
    assert (code, reasons, found["refuted"], found["undecided"]) == (0, [], 0, 0)
    assert found["verified"] == 3 * len(PLANS[name].methods)


def test_the_small_runs_show_every_case(runs: Callable[[str], Path]) -> None:
    """Else the tests above would say nothing of looks, leads and fall-backs."""
    short = Forgery(runs("radius"), 0, "np")
    assert short.certificate["status"] == "short"
    assert len(short.votes["votes"]) > 1
    assert Forgery(runs("leading"), 2, "np").certificate["method"] == "leading-class"
    assert Forgery(runs("leading"), 2, "np").certificate["radius"] > 0
    fallback = Forgery(runs("fallback"), 1, "rescaled")
    assert fallback.certificate["additional"] == []
    assert fallback.certificate["radius"] > 0


def test_a_run_that_was_certified_again(
    runs: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another alpha, and a ball of P's own votes as the second law."""
    recertify_run(runs("np"), alpha=0.01, q=["truncated:0.5"], output=tmp_path / "again")
    code, found = audited(tmp_path / "again", capsys)
    assert (code, found["verified"]) == (0, 6)
    forged = Forgery(tmp_path / "again", 1, "truncated")
    forged.certificate["additional"][0]["q"][0] += 1e-6
    assert "Q_A" in forged.audited().reason
    forged = Forgery(tmp_path / "again", 1, "truncated")
    forged.plan["alpha"] = 0.005
    assert forged.audited().word == "refuted"


@pytest.mark.parametrize("name", ["double", "fallback", "randomized", "grid", "leading"])
def test_exported_tables_keep_whole_proofs(
    name: str, runs: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.csv"
    assert main(["export", str(runs(name)), "--output", str(table)]) == 0
    code, found = audited(table, capsys)
    assert (code, found["verified"]) == (0, 3 * len(PLANS[name].methods)), found


def test_runs_of_the_first_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = Path(__file__).parents[1] / "store" / "first-format.sqlite.gz"
    (tmp_path / STORE_NAME).write_bytes(gzip.decompress(packed.read_bytes()))
    code, found = audited(tmp_path, capsys)
    assert (code, found["verified"], found["refuted"]) == (0, 18, 0)


def refuted(forged: Forgery) -> str:
    verdict = forged.audited()
    assert verdict.word == "refuted", verdict
    return verdict.reason


def test_bounds_that_do_not_come_from_the_votes(runs: Callable[[str], Path]) -> None:
    forged = Forgery(runs("np"), 1, "np")
    assert forged.audited().word == "verified"
    forged.certificate["p"][0] += 1e-9
    assert "votes" in refuted(forged)
    forged = Forgery(runs("double"), 1, "rescaled")
    forged.certificate["p"][1] -= 1e-9
    assert "P_A" in refuted(forged)
    forged = Forgery(runs("double"), 1, "truncated:0.6")
    forged.certificate["additional"][0]["q"][1] = forged.certificate["additional"][0]["q"][0]
    assert "Q_A" in refuted(forged)
    forged = Forgery(runs("fallback"), 1, "rescaled")
    forged.certificate["p"][0] += 1e-9
    assert "fall-back" in refuted(forged)
    forged = Forgery(runs("double"), 1, "tailored")
    forged.certificate["p"][0] = 0.5
    assert "no votes" in refuted(forged)


def test_a_smaller_alpha_than_was_spent(runs: Callable[[str], Path]) -> None:
    for name, method in (("np", "np"), ("double", "rescaled"), ("randomized", "np")):
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
    assert forged.audited().word == "verified"
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
    forged.votes["target"] = (forged.votes["target"] + 1) % 3
    assert refuted(forged)
    forged = Forgery(runs("leading"), 2, "np")
    selection = next(u for u in forged.votes["votes"] if u["purpose"] == "selection")
    selection["purpose"] = "estimation"
    assert refuted(forged)


def test_a_lead_and_its_rivals(runs: Callable[[str], Path]) -> None:
    forged = Forgery(runs("leading"), 2, "np")
    forged.certificate["rival"] -= 1e-6
    assert "rivals" in refuted(forged)
    forged = Forgery(runs("leading"), 2, "np")
    forged.plan["classes"] = "top"
    assert "other form" in refuted(forged)


def test_the_uniform_number_is_that_of_the_seed(runs: Callable[[str], Path]) -> None:
    forged = Forgery(runs("randomized"), 1, "np")
    assert forged.audited().word == "verified"
    forged.certificate["uniform"] *= 0.5
    assert "seed" in refuted(forged)
    forged.certificate["uniform"] = None
    assert "uniform" in refuted(forged)


def test_short_is_said_where_a_radius_was_asked_for(runs: Callable[[str], Path]) -> None:
    forged = Forgery(runs("radius"), 0, "np")
    forged.certificate["status"] = "abstained"
    assert "asked for" in refuted(forged)


def test_looks_and_their_parts_of_alpha(runs: Callable[[str], Path]) -> None:
    """A bound at a look has that look's part of alpha, not all of it."""
    certified = Forgery(runs("radius"), 1, "np")
    assert certified.certificate["status"] == "certified"
    assert certified.audited().word == "verified"
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
        forged = Forgery(runs("grid"), 1, method)
        assert forged.audited().word == "verified"
        grid = forged.certificate["grid"]
        variation, grid["variation"] = grid["variation"], grid["variation"] * 0.9
        assert "costs more" in refuted(forged)
        # The bound that the votes give, without its charge, is too large.
        grid["variation"] = variation
        place = forged.certificate if method != "tailored" else forged.certificate["additional"][0]
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
    assert moved.audited().word == "verified"
    moved.certificate["grid"]["moved"] += 1e-12
    assert "below the radius" in refuted(moved)


def test_the_gradient_follows_from_the_votes(runs: Callable[[str], Path]) -> None:
    forged = Forgery(runs("first-order"), 1, "first-order")
    assert forged.certificate["method"] == "first-order"
    assert forged.audited().word == "verified"
    tallies = forged.votes["votes"][-1]["tallies"]
    tallies["missed-noise"]["product"] *= 1.01
    tallies["missed-noise"]["first_norm"] *= 1.01
    assert "gradient" in refuted(forged)
    # The version before had a field for it.
    forged.votes["votes"][-1]["slope"] = tallies.pop("missed-noise")
    assert "gradient" in refuted(forged)
    del forged.votes["votes"][-1]["slope"]
    assert "halves" in refuted(forged)


def test_a_forged_run_folder_is_refuted_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(tmp_path / "run", PLANS["np"])

    def enlarge(fields: dict) -> None:  # type: ignore[type-arg]
        fields["linf_radius"] *= 1.1

    rewrite(folder, 1, enlarge)
    code, found = audited(folder, capsys)
    assert (code, found["refuted"], found["verified"]) == (1, 1, 2)
    assert main(["audit", str(folder), "--quiet"]) == 1
    assert "REFUTED: input 1, np: `linf_radius`" in capsys.readouterr().out
