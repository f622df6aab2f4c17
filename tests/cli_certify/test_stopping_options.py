"""`dsrs certify --radius`, `--adaptive` and `--classes`."""

from __future__ import annotations

import json

import pytest

from cli_certify.small_run import Certify
from dsrs.cli.main import main
from dsrs.store import open_run

PLAIN = ("--k", "0")


def test_one_radius_is_decided_with_few_votes(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certify(*PLAIN, "--radius", "0.05", "--n", "4000", "--json", "--quiet") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["votes"] < found["most_votes"] * 8 == 2 * 4000 * 8
    assert [method["method"] for method in found["methods"]] == ["np", "tailored"]
    for method in found["methods"]:
        assert [one["radius"] for one in method["certified_accuracy"]] == [0.05]
    with open_run("run") as run:
        assert {one.certificates["np"].status for one in run.results()} <= {"certified", "short"}
        assert sum(one.queries or 0 for one in run.results()) == found["votes"]
    assert main(["show", "run"]) == 0
    assert "times fewer than 8,000 an input" in capsys.readouterr().out


def test_a_table_says_so(certify: Certify, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--adaptive", "--radii", "0.05:0.15:0.05")
    assert certify(*PLAIN, *options, "--classes", "all") == 0
    out = capsys.readouterr().out
    assert "r=0.05  r=0.1  r=0.15" in out
    with open_run("run") as run:
        assert (run.plan.radii, run.plan.classes) == ((0.05, 0.1, 0.15), "all")


def test_adaptive_alone_means_one_percent(certify: Certify) -> None:
    assert certify(*PLAIN, "--adaptive", "--stop", "1", "--quiet") == 0
    with open_run("run") as run:
        assert (run.plan.precision, run.plan.methods) == (0.01, ("np", "tailored"))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--radius", "1", "--adaptive"), "choose one"),
        (("--radius-precision", "0.1"), "give --adaptive too"),
        (("--adaptive", "--radii", "1,2", "--radius-precision", "0.1"), "choose one"),
        (("--adaptive", "--radii", "x"), "--radii is written"),
        (("--radius", "-1"), "must be a positive number"),
        (("--radius", "1", "--q", "rescaled:0.8x"), "it has no looks with parts of alpha"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    certify: Certify, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], reason: str
) -> None:
    assert certify(*PLAIN, *options) == 2
    assert reason in capsys.readouterr().err
