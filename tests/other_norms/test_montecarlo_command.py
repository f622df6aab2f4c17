"""`dsrs montecarlo`."""

from __future__ import annotations

import json

import pytest

from dsrs.cli.main import parsed
from dsrs.confidence import clopper_pearson_lower
from dsrs.errors import InvalidInput

FEW = ["--samples", "20000", "--search-samples", "3000"]
LAW = ["--norm", "l1", "--d", "50", "--k", "5", "--sigma", "0.5"]


def call(*arguments: str) -> int:
    command, parsed_arguments = parsed(["montecarlo", *arguments])
    assert command.run is not None
    return command.run(parsed_arguments)


def test_bounds_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*LAW, *FEW, "--p", "0.9") == 0
    printed = capsys.readouterr().out
    assert "l1 noise(d=50, k=5, sigma=0.5)" in printed
    assert "certified l1 radius  0." in printed
    assert "Monte Carlo test of the dual bound  0.001" in printed


def test_votes_pay_from_the_same_alpha(capsys: pytest.CaptureFixture[str]) -> None:
    votes = ["--p-votes", "900/1000", "--q", "truncated:0.5", "--q-votes", "990/1000"]
    assert call(*LAW, *FEW, *votes, "--alpha", "0.01", "--json") == 0
    record = json.loads(capsys.readouterr().out)
    shares = {share["purpose"]: share["alpha"] for share in record["alpha"]}
    assert sum(shares.values()) == pytest.approx(0.01)
    assert record["p_lower"] == clopper_pearson_lower(900, 1000, shares["lower bound of P_A"])
    assert record["additional"][0]["q_lower"] == clopper_pearson_lower(
        990, 1000, shares["lower bound of Q_A"]
    )
    assert record["status"] == "certified"
    assert record["radius"] > 0


def test_the_exponent_eta_and_a_factor_of_sigma(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--eta", "1", "--p", "0.9", "--q", "rescaled:0.8x", "--q-lower", "0.95", "--json"]
    assert call(*LAW, *FEW, *words) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["law"]["eta"] == 1
    assert record["additional"][0]["law"] == {"kind": "rescaled", "beta": 0.4}
    assert record["radius"] > 0


def test_abstaining_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*LAW, *FEW, "--p", "0.4") == 0
    assert "abstained" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--p", "0.9", "--q-lower", "0.9"], "needs both --q"),
        (["--p", "0.9", "--q", "truncated:0.5"], "needs both --q"),
        (["--p", "0.9", "--q", "truncated:T=3", "--q-lower", "0.9"], "share of the mass"),
        (["--p-votes", "9:10"], "RIGHT/ALL"),
        (["--p-votes", "11/10"], "`successes` must not exceed `trials`"),
        (["--p", "nan"], "`p_lower`"),
        (["--p", "0.9", "--alpha", "2"], "`alpha`"),
        (["--p", "0.9", "--seed", "-1"], "`seed`"),
    ],
)
def test_bad_arguments(arguments: list[str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call(*LAW, *FEW, *arguments)
