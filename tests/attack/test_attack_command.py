"""`dsrs attack` on a run whose true radii are known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from attack.certified_lines import FIRST, FORGED, certify
from dsrs.cli import EXIT_COUNTEREXAMPLE
from dsrs.cli.main import main
from dsrs.store import attacked_inputs, open_run

BUDGET = ["--budget", "16384", "--quiet", "--trust-code"]
TRUE = [abs(first - 0.2) for first in FIRST]


def test_every_certificate_is_bracketed(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attack", "run", *BUDGET, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["index"] for one in found["inputs"]] == [0, 1, 2, 3]
    for one, true in zip(found["inputs"], TRUE, strict=True):
        assert one["certified"] < true < one["attacked"] < true + 0.1
        assert one["ratio"] == one["certified"] / one["attacked"]
        assert one["shown"] == "answer changed"
        assert one["votes"] <= 16384
    assert found["refuted"] == []
    ratios = [one["ratio"] for one in found["inputs"]]
    assert found["means"]["ratio"] == pytest.approx(np.mean(ratios))
    assert found["within"] == "R^d"


def test_people_see_a_table_and_the_means(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attack", "run", *BUDGET]) == 0
    shown = capsys.readouterr().out
    assert "4 of 4 certified inputs have a proved counterexample anywhere in R^d" in shown
    assert "certified / attacked" in shown


def test_a_planted_wrong_certificate_is_refuted(
    forged: Callable[[float], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its radius is twice the true one; those of the others hold."""
    forged(2.0)
    assert main(["attack", "forged", *BUDGET, "--json"]) == EXIT_COUNTEREXAMPLE == 3
    streams = capsys.readouterr()
    found = json.loads(streams.out)
    assert found["refuted"] == [FORGED]
    assert "REFUTED" in streams.err
    assert f"input {FORGED}" in streams.err
    assert "up to alpha = 0.001 of all certificates may be wrong" in streams.err


def test_an_almost_true_certificate_is_not_refuted(forged: Callable[[float], Path]) -> None:
    forged(0.999)
    assert main(["attack", "forged", *BUDGET]) == 0


def test_clipped_attacks_stay_in_the_box(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Input 3 must rise from 0 to above 0.2, which the box allows; the others fall."""
    assert main(["attack", "run", *BUDGET, "--clip", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["within"] == "bounds"
    images = np.load("data.npz")["images"]
    with open_run("run") as opened:
        for index, one in attacked_inputs(opened).items():
            assert one.attacked is not None
            assert one.perturbation is not None
            moved = images[index] + one.perturbation[0]
            assert moved.min() >= 0
            assert moved.max() <= 1


def test_the_model_may_be_named_again(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = ["--model", "linear_model:first_pixel", "--data", "data.npz"]
    assert main(["attack", "run", *BUDGET, *named, "--indices", "0"]) == 0
    capsys.readouterr()
    assert main(["attack", "run", *BUDGET, "--model", "linear_model:other"]) == 2
    assert "was certified with another model" in capsys.readouterr().err


def test_a_run_without_certificates_has_nothing_to_attack(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    certify("--n", "16", "--indices", "3")  # 16 votes prove too little of P_A = 0.66
    assert main(["attack", "run", *BUDGET]) == 0
    assert "nothing to attack" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--budget", "-1"], "--budget must be from 1"),
        (["--budget", "10"], "--budget must be at least 4096 votes"),
        (["--alpha", "1.5"], "--alpha must be in (0, 1)"),
        (["--seed", "-1"], "--seed must be"),
        (["--method", "tailored"], "--method must be one of np"),
        (["--indices", "7"], "--indices must be inputs of run"),
    ],
)
def test_bad_options_are_refused(
    run: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["attack", "run", "--trust-code", *words]) == 2
    assert message in capsys.readouterr().err


def test_the_report_shows_the_gap_and_the_pictures(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["attack", "run", *BUDGET]) == 0
    assert main(["report", "run", "--output", "report.html"]) == 0
    assert "4 of 4 certified inputs have a proved counterexample" in capsys.readouterr().out
    page = Path("report.html").read_text()
    data = json.loads(page.partition('id="report-data">')[2].partition("</script>")[0])
    (gap,) = data["series"]["gaps"]
    assert len(gap["radius"]) == len(gap["certified"]) == len(gap["attacked"])
    assert gap["certified"][0] == gap["attacked"][0] == 1
    assert gap["certified"][-1] == gap["attacked"][-1] == 0
    assert all(c <= a for c, a in zip(gap["certified"], gap["attacked"], strict=True))
    for one, true in zip(data["runs"][0]["inputs"], TRUE, strict=True):
        assert one["attack"]["distance"] > true
        assert len(one["attack"]["pictures"]) == 2


def test_tables_and_archives_hold_the_attack(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "run", "--format", "attacks"]) == 2
    assert "attack it with `dsrs attack`" in capsys.readouterr().err
    assert main(["attack", "run", *BUDGET, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["inputs"]
    assert main(["export", "run", "--format", "csv"]) == 0
    assert main(["export", "run", "--format", "attacks"]) == 0
    head, *rows = [line.split(",") for line in Path("run.csv").read_text().splitlines()]
    assert [float(row[head.index("attacked")]) for row in rows] == [
        one["attacked"] for one in found
    ]
    assert [row[head.index("attack_shown")] for row in rows] == ["answer changed"] * 4
    archive = np.load("run.npz")
    assert archive["norm"].tolist() == [one["attacked"] for one in found]
    assert archive["perturbation"].shape == (4, 1, 3, 3)
    lengths = np.linalg.norm(archive["perturbation"].reshape(4, -1), axis=1)
    assert np.allclose(lengths, archive["norm"], rtol=1e-6)
    capsys.readouterr()
    export = ["export", "run", "--format", "attacks", "--overwrite"]
    assert main(export) == 0
    assert main([*export, "--output", "data.npz"]) == 2  # an archive of something else
    assert main(["import", "run.npz", "--output", "rows.csv"]) == 2
    assert "has no rows to read" in capsys.readouterr().err
    assert main(["show", "run", "--index", "0"]) == 0
    assert "attack: " in capsys.readouterr().out
    assert main(["show", "run", "--index", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["attack"]["certified"] == found[0]["certified"]
