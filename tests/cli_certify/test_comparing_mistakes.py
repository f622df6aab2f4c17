"""Plausible mistakes with gate, compare, report and budgets: a sentence each, and no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_certify.small_run import Certify
from dsrs.cli.main import main

GATE, COMPARE, REPORT = ("gate", "run"), ("compare", "run"), ("report", "run")
CERTIFY = (
    *("certify", "--model", "tiny_classifier:bright", "--num-classes", "2", "--data", "data.npz"),
    *("--sigma", "0.5", "--output", "new"),
)
HALF = ("--require", "accuracy@0.5>=0.5")
MISTAKES = [
    ((*GATE,), "needs --require"),
    (("gate", *HALF), "needs [NAME=]RUN"),
    (("gate", "runs/none", *HALF), "runs/none does not exist"),
    ((*GATE, "--require", "accuracy>=0.5"), "accuracy needs a radius"),
    ((*GATE, "--require", "accuracy@0.5>=60"), "write 0.60 or 60%"),
    ((*GATE, "--require", "accuracy@0.5=0.6"), "a requirement is written like"),
    ((*GATE, "--require", "acuracy@0.5>=0.6"), "the quantities are"),
    ((*GATE, "--require", "accuracy@0.5"), "a requirement is written like"),
    ((*GATE, "--require", "mean_radius<=1"), "from below only"),
    ((*GATE, *HALF, "--method", "tailord"), "--method must be one of np, tailored"),
    ((*GATE, *HALF, "--confidence", "95"), "--confidence must be in (0, 1), got 95"),
    ((*GATE, *HALF, "--junit", "data.npz"), "is not a file of `dsrs gate`"),
    ((*GATE, *HALF, "--junit", "no/such/gate.xml"), "no/such does not exist"),
    ((*GATE, *HALF, "--summary", "."), "is a folder"),
    ((*GATE, "other", *HALF), "has no place for 'other'"),
    (("gate", "data.npz", *HALF), "data.npz"),
    ((*COMPARE,), "needs [NAME=]NEW"),
    ((*COMPARE, "run"), "given twice"),
    ((*COMPARE, "elsewhere"), "different data"),
    ((*COMPARE, "alone", "--method", "tailored"), "not both the method 'tailored'"),
    ((*COMPARE, "alone", "--radii", "1,0.5"), "radii that increase"),
    ((*COMPARE, "alone", "--radii", "-1"), "radii of 0 or more"),
    ((*COMPARE, "alone", "third"), "has no place for 'third'"),
    ((*REPORT, "name="), "NAME=PATH"),
    ((*REPORT, "a=alone", "a=elsewhere"), "two runs are called 'a'"),
    ((*REPORT, "alone", "--family", "mine=runs/alone"), "the runs are called 'run', 'alone'"),
    ((*REPORT, "--family", "mine=run", "--no-envelope"), "cannot be used together"),
    ((*REPORT, "--require", "accuracy@0.5>60%", "--radii", "a"), "--radii is written"),
    (("show", "run", "--radii", "0.5;1"), "--radii is written"),
    ((*CERTIFY, "--budget", "soon"), "such as 30min or 2h, got 'soon'"),
    ((*CERTIFY, "--budget", "1e5", "--n", "100"), "choose one"),
    ((*CERTIFY, "--budget", "10"), "the budget is too small"),
    ((*CERTIFY, "--budget", "1e5", "--radius", "1"), "no budget can be planned"),
    ((*CERTIFY, "--budget", "1e5", "--shard", "1/2"), "the same --n"),
    ((*CERTIFY, "--dry-run", "--landscape", "none"), "none does not exist"),
    ((*CERTIFY, "--dry-run", "--cluster", "local"), "not at a --cluster"),
    ((*CERTIFY, "--n", "9"), "9 votes can never certify"),
    ((*CERTIFY[:-1], "run", "--budget", "1e5"), "run is a run already"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`run` and `alone` certify the same data, `alone` by one method; `elsewhere` other data."""
    from cli_certify.small_run import certify_arguments, make_data

    path = tmp_path_factory.mktemp("mistakes")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        make_data(path / "data.npz")
        make_data(path / "other.npz", inputs=9)
        more = ("--stop", "2", "--n", "64", "--quiet")
        assert main([*certify_arguments("run"), *more]) == 0
        assert main([*certify_arguments("alone"), *more, "--q", "none"]) == 0
        assert main([*certify_arguments("elsewhere"), *more, "--data", "other.npz"]) == 0
    return path


@pytest.mark.parametrize(("words", "message"), MISTAKES)
def test_a_mistake_gets_a_sentence(
    words: tuple[str, ...],
    message: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(path.name for path in folder.iterdir())
    assert main(list(words)) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.startswith("dsrs: ")
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err
    assert sorted(path.name for path in folder.iterdir()) == before


def test_radii_choose_the_columns_everywhere(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certify("--quiet", "--radii", "0.15,0.35") == 0
    out = [capsys.readouterr().out]
    for words in (["show", "run"], ["report", "run", "--resamples", "100"]):
        assert main([*words, "--radii", "0.15,0.35"]) == 0
        out.append(capsys.readouterr().out)
    for text in out:
        (heads,) = (line for line in text.splitlines() if "r=0.15" in line)
        assert [word for word in heads.split() if word.startswith("r=")] == ["r=0.15", "r=0.35"]
