"""Forged bounds, votes, plans and kinds: none is verified, none ends in a traceback."""

from __future__ import annotations

import copy
import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("flint")

import dsrs
from audit.small_runs import PLANS, Forgery, make_run, rewrite
from dsrs import Interval, Observation, Truncated, certify
from dsrs.audit.balls import arb
from dsrs.audit.checking import check_certificate
from dsrs.audit.claims import Claim
from dsrs.audit.items import item_of_row
from dsrs.audit.kinds import proof_of
from dsrs.audit.methods import BoundsFromVotes
from dsrs.audit.methods.ballots import Slope
from dsrs.audit.mixture import Mixture
from dsrs.audit.shells import Shells
from dsrs.audit.verdicts import Refuted, Undecided
from dsrs.audit.weights import Edge, Law, Piece
from dsrs.certifying.votes_again import retake_votes
from dsrs.classifiers import from_callable
from dsrs.cli.main import main
from dsrs.datasets import Dataset
from dsrs.laws import GeneralizedGaussian
from dsrs.store import open_run
from dsrs.store.opening import STORE_NAME, checksum_of

PLAIN, SMALL = GeneralizedGaussian(20, 0.5), GeneralizedGaussian(20, 0.5, 6.0)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("runs")

    def made(name: str) -> Path:
        path = folder / name
        return path if path.exists() else make_run(path, PLANS[name])

    return made


def alone() -> dict[str, Any]:
    return certify(PLAIN, Interval(0.93, 0.95)).to_dict()


def test_a_plan_that_was_made_to_suit_the_votes(runs: Callable[[str], Path]) -> None:
    """Only alpha and methods may differ from the plan that took them."""
    stopped = Forgery(runs("radius"), 1, "np")
    votes = next(each for each in stopped.votes["votes"] if each["purpose"] == "estimation")
    assert sum(votes["counts"]) < stopped.plan["n"]
    stopped.plan = stopped.plan | {"radius": None, "n": sum(votes["counts"])}
    stopped.certificate["status"] = "certified"
    assert "in more than alpha" in stopped.checked().reason

    moved = Forgery(runs("grid"), 1, "np")
    moved.plan, moved.certificate["grid"] = moved.plan | {"grid": None}, None
    assert moved.checked().word == "refuted"


def test_votes_under_other_noise_than_the_plan_says(runs: Callable[[str], Path]) -> None:
    less = {"d": 16, "sigma": 0.05, "k": 0.0, "eta": 2.0}
    unknown = Forgery(runs("grid"), 1, "np")
    unknown.votes["votes"][-1]["noise"] = less
    assert unknown.checked().word == "undecided"
    law = Forgery(runs("grid"), 1, "rescaled")
    seen = next(votes for votes in law.votes["votes"] if votes["law"] is not None)
    seen["law"]["of"] = less
    assert law.checked().word == "undecided"


def test_methods_with_parameters_that_they_do_not_have(runs: Callable[[str], Path]) -> None:
    forged = Forgery(runs("np"), 1, "np")
    forged.method = "np:other"
    forged.plan = forged.sampled = forged.plan | {"methods": ["np:other"]}
    assert forged.checked().word == "undecided"


def test_all_votes_in_one_bin_are_not_all_in_the_ball(runs: Callable[[str], Path]) -> None:
    forged = Forgery(runs("grid"), 1, "rescaled")
    forged.method, share = "truncated:0.25", {"kind": "truncated", "percentile": 0.25}
    forged.plan = forged.plan | {"methods": ["truncated:0.25"]}
    for votes in forged.votes["votes"]:
        votes["trials"], votes["hits"] = [sum(votes["trials"])], [sum(votes["hits"])]
    forged.certificate["grid"]["variation"] = 1e-6
    forged.proof |= {"p": [0.0, 1.0], "additional": [{"law": share, "q": [0.0, 1.0]}]}
    claim = Claim.read(forged.certificate)
    bounds = BoundsFromVotes(forged.plan, forged.sampled, forged.method, forged.votes)
    with pytest.raises(Refuted, match="bins"):
        bounds(claim, proof_of(claim))


def test_noise_has_no_mean_of_negative_length() -> None:
    for norm, product in ((-1.0, 0.0), (0.0, -1.0)):
        with pytest.raises(Refuted):
            Slope.read({"split": 5, "first_norm": norm, "product": product})


def forged_config(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    with sqlite3.connect(folder / STORE_NAME) as store:
        config = json.loads(store.execute("SELECT config FROM run").fetchone()[0])
        text = json.dumps(change(config))
        store.execute("UPDATE run SET config = ?, checksum = ?", (text, checksum_of(text)))
    store.close()


def forged_plan(folder: Path, plan: dict[str, Any]) -> None:
    forged_config(folder, lambda config: config | {"plan": plan})


def test_a_family_has_as_many_members_as_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(tmp_path / "run", PLANS["np"])
    for size, code in ((1, 1), (3, 0)):
        with open_run(folder) as run:
            plan = run.config["plan"]
        plan |= {"family_alpha": size * PLANS["np"].alpha, "family_size": size}
        forged_plan(folder, plan)
        assert main(["check", str(folder), "--quiet"]) == code
    assert "divided among 1 certificates, and the run has 3" in capsys.readouterr().out


@pytest.mark.parametrize(
    "part", [{"plan": []}, {"sampled_plan": [1]}, {"model": 5}, {"plan": {"methods": 5}}]
)
def test_configs_that_cannot_be_read_are_named(
    part: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(tmp_path / "run", PLANS["np"])
    forged_config(folder, lambda config: config | part)
    assert main(["check", str(folder), "--quiet"]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_a_plan_without_its_grid_ends_in_verdicts(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", PLANS["np"])
    plan = {name: value for name, value in PLANS["np"].to_dict().items() if name != "grid"}
    forged_plan(folder, plan)
    assert main(["check", str(folder), "--quiet"]) == 1


@pytest.mark.parametrize("change", ["label = 1 - label", "moved = 0.5", "fingerprint = 'x'"])
def test_votes_taken_again_are_of_the_stored_input(change: str, tmp_path: Path) -> None:
    from audit.small_runs import INPUTS, classify

    folder = make_run(tmp_path / "run", PLANS["leading"])
    data = Dataset.from_arrays(INPUTS.reshape(-1, 1, 4, 4), classify(INPUTS).tolist())
    model = from_callable(classify, (1, 4, 4), 3)
    assert not any(found.difference for found in retake_votes(folder, model, data, 3))
    with sqlite3.connect(folder / STORE_NAME) as store:
        store.execute(f"UPDATE input SET {change} WHERE idx = 1")
    store.close()
    rewrite(folder, 1, "radius = radius")
    differences = [found.difference for found in retake_votes(folder, model, data, 3)]
    assert [bool(found) for found in differences] == [False, True, False]


def rows(folder: Path, method: str) -> dict[str, Any]:
    """The certified row of input 1 as JSON lines hold it."""
    table = folder.parent / f"{folder.name}.jsonl"
    words = ["--format", "jsonl", "--output", str(table), "--overwrite"]
    assert main(["export", str(folder), *words]) == 0
    found = map(json.loads, table.read_text().splitlines())
    return next(row for row in found if row["index"] == 1 and row["method"] == method)


@pytest.mark.parametrize(
    "cells",
    [
        {"p_lower": 0.0},
        {"p_lower": 0},
        {"eta": 0},
        {"grid": 0.0, "moved": 0.3},
        {"grid": None, "moved": 0.3},
        {"rival": 0.1},
        {"gradient": 0.1},
        {"q_lower": 0.99, "q_upper": 1.0},
        {"linf_radius": 5.0},
        {"certified_radius": 0.0},
    ],
    ids=str,
)
def test_cells_that_contradict_the_proof(
    cells: dict[str, Any], runs: Callable[[str], Path]
) -> None:
    row = rows(runs("grid"), "np")
    assert item_of_row("row", row).check()
    assert item_of_row("row", row | cells).check().word == "refuted"


def test_leads_of_tables_are_verified(runs: Callable[[str], Path]) -> None:
    assert item_of_row("row", rows(runs("leading"), "np")).check()


@pytest.mark.parametrize("additional", [5, [5], [[]], "x", [None], [{"q": 5}]], ids=str)
def test_proofs_in_cells_that_are_no_proofs(additional: Any, runs: Callable[[str], Path]) -> None:
    row = rows(runs("grid"), "rescaled")
    proof = json.loads(row["proof"]) | {"additional": additional}
    for p in (proof["p"], 5, "x"):
        changed = row | {"proof": json.dumps(proof | {"p": p})}
        verdict = item_of_row("row", changed).check()
        assert verdict.word == "refuted"
        assert "this check failed" not in verdict.reason


def test_a_subject_says_nothing_but_what_a_subject_says() -> None:
    """It is printed beside the radius that was verified."""
    true = alone()
    subject = {"class": 3, "alpha": 0.001, "n": 100, "seed": 2**127, "seed_public": True}
    assert dsrs.check(true | {"subject": subject})
    assert dsrs.check(true | {"subject": {"radius": 1000}}).word == "undecided"
    for wrong in ({"class": -3}, {"n": 0.5}, {"index": "x"}, {"model": 5}, {"seed_public": 1}):
        assert dsrs.check(true | {"subject": subject | wrong}).word == "refuted"


@pytest.mark.parametrize(
    ("name", "value"), [("radius", "abc"), ("radius", 10**400), ("law", None), ("radius", 5.0)]
)
def test_changed_objects_end_in_a_verdict(name: str, value: Any) -> None:
    certificate = certify(PLAIN, Interval(0.93, 0.95))
    object.__setattr__(certificate, name, value)
    assert dsrs.check(certificate).word == "refuted"


def test_no_time_is_no_time() -> None:
    assert dsrs.check(alone(), seconds=float("nan")).word == "undecided"


def test_laws_by_the_thousand_end_in_time() -> None:
    true = certify(
        SMALL, Interval(0.93, 0.95), Observation(Truncated(SMALL, 0.6), Interval(0.98, 0.99))
    ).to_dict()
    many = copy.deepcopy(true)
    many["proof"]["additional"] = [
        {"law": {"kind": "truncated", "percentile": 0.3 + n * 1e-5}, "q": [0, 1]}
        for n in range(4000)
    ]
    knots = copy.deepcopy(true)
    count = 3000
    law = {"kind": "weighted", "knots": [2 + n * 3e-3 for n in range(count)], "inner": 0.0}
    law |= {"log_weights": [0.0] * count, "outer": 0.0}
    knots["proof"]["additional"] = [{"law": law, "q": [0.9, 1]}]
    for fields, multipliers in ((many, [1.0, *[0] * 4000]), (knots, [1.0, -1.0])):
        for step in fields["proof"]["steps"]:
            step["multipliers"] = multipliers
        began = time.thread_time()
        assert dsrs.check(fields, seconds=0.5).word == "undecided"
        assert time.thread_time() - began < 1.5


def test_edges_that_are_hardly_apart_are_not_told_apart() -> None:
    """A law that ends on an enclosed shell must be known to be, or not to be, on every interval."""
    wide, near = Edge("wide", arb(0, 1e-3)), Edge("near", arb(-1.1e-3))
    pieces = [Piece(arb(0), arb(0), arb(0), None, edge) for edge in (wide, near)]
    laws = tuple(Law((piece,)) for piece in pieces)
    mixture = Mixture(Shells(20, 0.5, 0.0, 2.0), (1.0, 1.0), laws)
    with pytest.raises(Undecided):
        list(mixture.intervals(arb(-1), arb(1)))


def test_another_package_called_flint_proves_nothing(tmp_path: Path) -> None:
    (tmp_path / "flint.py").write_text("")
    source = tmp_path / "one.json"
    source.write_text(json.dumps(alone()))
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import dsrs.cli.main as cli; "
    command = [sys.executable, "-c", program + "sys.exit(cli.main())", "check", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "nothing was proved" in done.stderr) == (3, True), done.stderr


@pytest.mark.parametrize(
    "change",
    [
        {"early_stop": 1e308},
        {"seed_public": "no"},
        {"radii": {}},
        {"radii": [-1.0]},
        {"precision": -0.1},
        {"grid": {"step": 1 / 4080, "origin": "here"}},
    ],
)
def test_a_plan_that_is_none_is_refuted_even_where_no_bound_rests_on_it(
    runs: Callable[[str], Path], change: dict[str, Any]
) -> None:
    forged = Forgery(runs("radius"), 1, "np")
    assert forged.checked().word == "verified"
    forged.plan = forged.sampled = {**forged.plan, **change}
    verdict = forged.checked()
    assert verdict.word == "refuted", verdict
    assert "this is not a certificate" in verdict.reason


def test_whether_the_search_was_complete_is_true_or_false() -> None:
    fields = alone()
    assert check_certificate(fields).word == "verified"
    values: tuple[Any, ...] = ([], 0.5, "yes")
    for value in values:
        verdict = check_certificate({**fields, "complete": value})
        assert verdict.word == "refuted"
