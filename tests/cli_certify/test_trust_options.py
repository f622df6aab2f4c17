"""Seeds that are drawn, alpha for all inputs together, and what is said of both."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from cli_certify.small_run import Certify, contents
from dsrs.cli.main import main
from dsrs.store import open_run


def test_a_random_seed_is_drawn_once_and_kept(certify: Certify) -> None:
    assert certify("--quiet", "--stop", "1", "--seed", "random") == 0
    with open_run("run") as run:
        plan = run.plan
    assert not plan.seed_public
    assert plan.seed >= 2**64  # 128 bits: it would be smaller once in 2^64 runs
    before = contents("run")  # type: ignore[arg-type]
    assert certify("--quiet", "--stop", "2", "--seed", "random") == 0
    with open_run("run") as run:
        assert run.plan == plan
        assert len(run) == 2
    assert contents("run")[:1] == before  # type: ignore[arg-type]
    # A run of a seed that was given is not continued with another one.
    assert certify("--quiet", "--stop", "1", "--seed", "3", output="given") == 0
    assert certify("--quiet", "--stop", "2", "--seed", "random", output="given") == 2


def test_show_says_whether_the_seed_was_drawn(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certify("--quiet", "--stop", "1", "--seed", "random") == 0
    assert certify("--quiet", "--stop", "1", "--seed", "5", output="given") == 0
    capsys.readouterr()
    assert main(["show", "run"]) == 0
    assert "seed (drawn for this run) = " in capsys.readouterr().out
    assert main(["show", "given"]) == 0
    assert ", seed = 5\n" in capsys.readouterr().out


@pytest.mark.parametrize("seed", ["-1", str(2**128), "now"])
def test_other_seeds_are_refused(
    certify: Certify, seed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certify("--quiet", "--stop", "1", "--seed", seed) == 2
    assert "whole number" in capsys.readouterr().err


def test_a_family_of_certificates_shares_alpha(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certify("--quiet", "--stop", "3", "--family-alpha", "0.06") == 0
    with open_run("run") as run:
        plan = run.plan
    assert (plan.family_alpha, plan.family_size) == (0.06, 6)  # three inputs, two methods
    assert Fraction(plan.alpha) * 6 <= Fraction(0.06)
    assert plan.alpha == pytest.approx(0.01)
    capsys.readouterr()
    sentence = (
        "at most 0.06 of 6 certificates are expected to be false (alpha = 0.01 each); all 6 of the "
        "run hold together, except with probability 0.06 at most"
    )
    for verb in ("show", "report"):
        assert main([verb, "run"]) == 0
        assert sentence in capsys.readouterr().out
    assert main(["report", "run", "--json"]) == 0
    assert any(sentence in caveat for caveat in json.loads(capsys.readouterr().out)["caveats"])
    # The parts of a run share one alpha: N counts the inputs of all of them.
    words = ("--quiet", "--stop", "3", "--shard", "1/3", "--family-alpha", "0.06")
    assert certify(*words, output="a") == 0
    with open_run("a") as part:
        assert (len(part), part.plan.alpha) == (1, plan.alpha)


def test_a_family_is_repeated_from_its_file(certify: Certify) -> None:
    assert certify("--quiet", "--stop", "2", "--family-alpha", "0.04") == 0
    assert (
        main(
            ["certify", "--config", "run/run.toml", "--trust-code", "--output", "again", "--quiet"]
        )
        == 0
    )
    with open_run("run") as run, open_run("again") as again:
        assert again.plan == run.plan
    words = [
        "certify",
        "--config",
        "run/run.toml",
        "--trust-code",
        "--alpha",
        "0.5",
        "--output",
        "other",
    ]
    assert main([*words, "--quiet"]) == 0
    with open_run("other") as other:
        assert (other.plan.alpha, other.plan.family_alpha) == (0.5, None)


@pytest.mark.parametrize(
    "words",
    [
        ("--alpha", "0.1", "--family-alpha", "0.1"),
        ("--family-alpha", "1.5"),
        ("--family-alpha", "nan"),
    ],
)
def test_what_no_family_can_have(certify: Certify, words: tuple[str, ...]) -> None:
    assert certify("--quiet", "--stop", "1", *words) == 2


def test_a_run_without_a_grid_says_so(certify: Certify, capsys: pytest.CaptureFixture[str]) -> None:
    assert certify("--quiet", "--stop", "1", "--grid", "none") == 0
    assert certify("--quiet", "--stop", "1", output="gridded") == 0
    capsys.readouterr()
    for verb in ("show", "report", "check"):
        main([verb, "run"])
        assert (
            "without a grid: certificates do not account for the rounding"
            in capsys.readouterr().out
        )
        main([verb, "gridded"])
        assert "without a grid" not in capsys.readouterr().out


def test_a_report_over_different_inputs_says_how_many_they_share(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certify("--quiet", "--indices", "0,1,2", output="a") == 0
    assert certify("--quiet", "--indices", "1,2", "--sigma", "0.25", output="b") == 0
    assert certify("--quiet", "--indices", "3", "--sigma", "0.25", output="c") == 0
    capsys.readouterr()
    assert main(["report", "a", "b"]) == 0
    assert (
        "different inputs: a has 3, b has 2, and 2 of these are common" in capsys.readouterr().out
    )
    assert main(["report", "b", "c"]) == 0
    assert "b has 2, c has 1, and none of these are common" in capsys.readouterr().out
    assert main(["report", "a"]) == 0
    assert "different inputs" not in capsys.readouterr().out
