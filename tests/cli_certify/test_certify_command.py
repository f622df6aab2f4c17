"""`dsrs certify`: results, resume, selections and output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_certify.small_run import INPUTS, Certify, contents
from dsrs.proofs import check
from dsrs.store import STORE_NAME, open_run
from dsrs.votes import SELECTION


def test_a_run_holds_checked_certificates_and_prints_its_table(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certify("--q", "truncated:heuristic", "--q", "rescaled:0.8x") == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == f"certified accuracy (%) at l2 radius r, {INPUTS} inputs"
    assert [line.split()[0] for line in lines[3:6]] == ["np", "truncated", "rescaled"]
    assert "dsrs report run" in out
    assert f"{INPUTS}/{INPUTS}" in err
    with open_run("run") as run:
        results = list(run.results())
        assert run.config["model"]["bounds"] == [0.0, 1.0]
    assert [result.index for result in results] == list(range(INPUTS))
    for result in results:
        assert sum(votes.total for votes in result.votes) == 4 * 200
        assert all(check(certificate) for certificate in result.certificates.values())
        assert result.thumbnail is not None
    assert any(result.certificates["np"].radius > 0 for result in results)


def test_the_same_command_does_nothing_twice(certify: Certify) -> None:
    certify()
    with open_run("run") as run:
        before = list(run.results())
    assert certify() == 0
    with open_run("run") as run:
        assert list(run.results()) == before  # with the seconds: nothing was sampled again
        assert len(run.sessions) == 2


def test_a_run_grows_by_further_inputs_and_order_and_workers_do_not_matter(
    certify: Certify,
) -> None:
    certify("--indices", "5,2", "--workers", "1", output="grown")
    assert [row[0] for row in contents(Path("grown"))] == [2, 5]
    certify("--start", "1", "--stop", "6", "--skip", "2", "--workers", "3", output="grown")
    assert [row[0] for row in contents(Path("grown"))] == [1, 2, 3, 5]
    certify(output="grown")
    certify(output="whole")
    assert contents(Path("grown")) == contents(Path("whole"))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--alpha", "0.01"), "plan.alpha: stored 0.001, given 0.01"),
        (("--n", "500"), "plan.n: stored 400, given 500"),
        (("--model", "tiny_classifier:dark"), "model.fingerprint: stored"),
        (("--q", "none"), "plan.methods: stored ['np', 'tailored'], given ['np']"),
        (("--no-labels",), "data.labels: stored True, given False"),
    ],
)
def test_changed_settings_are_named_and_nothing_changes(
    certify: Certify, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], named: str
) -> None:
    certify("--stop", "1")
    before = Path("run", STORE_NAME).read_bytes()
    assert certify(*arguments) == 2
    assert named in capsys.readouterr().err
    assert Path("run", STORE_NAME).read_bytes() == before


def test_json_and_quiet(certify: Certify, capsys: pytest.CaptureFixture[str]) -> None:
    assert certify("--json", "--quiet") == 0
    out, err = capsys.readouterr()
    assert err == ""
    found = json.loads(out)
    assert [method["method"] for method in found["methods"]] == ["np", "tailored"]
    accuracies = [row["accuracy"] for row in found["methods"][0]["certified_accuracy"]]
    assert accuracies == sorted(accuracies, reverse=True)


def test_verbose_says_what_is_done(certify: Certify, capsys: pytest.CaptureFixture[str]) -> None:
    assert certify("--verbose", "--stop", "1") == 0
    err = capsys.readouterr().err
    assert "model: tiny_classifier:bright" in err
    assert f"data: data.npz, 1 of {INPUTS} inputs, with labels" in err


def test_without_labels_the_votes_choose_the_class(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certify("--no-labels", "--n0", "50") == 0
    assert "no labels" in capsys.readouterr().out
    with open_run("run") as run:
        for result in run.results():
            assert result.label is None
            assert result.target == result.predicted
            assert result.votes[0].stream.purpose == SELECTION
            assert result.votes[0].total == 50


def test_the_plan_options_reach_the_plan(certify: Certify) -> None:
    certify(
        *("--q", "truncated:0.7", "--share", "0.25", "--alpha-share", "0.75", "--seed", "9"),
        *("--fallback", "--early-stop", "--target", "predicted", "--stop", "1"),
    )
    with open_run("run") as run:
        plan = run.plan
    assert (plan.methods, plan.sample_share, plan.alpha_share) == (
        ("np", "truncated:0.7"),
        0.25,
        0.75,
    )
    assert (plan.seed, plan.fallback, plan.early_stop, plan.target) == (9, True, True, "predicted")
    assert (plan.law.d, plan.law.k, plan.law.sigma, plan.n, plan.batch) == (16, 4, 0.5, 400, 64)


def test_a_model_that_runs_out_of_memory_is_given_fewer_rows(
    certify: Certify, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certify(output="plain") == 0
    assert "memory" not in capsys.readouterr().err
    assert certify("--model", "tiny_classifier:hungry", output="hungry") == 0
    told = capsys.readouterr().err
    assert told.count("ran out of memory with 64 rows: it is given 16 at a time") == 1
    assert "forward passes had down to 16 rows instead of 64, and the votes are the same" in told
    assert contents(tmp_path / "hungry") == contents(tmp_path / "plain")
