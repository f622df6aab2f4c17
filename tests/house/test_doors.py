"""A method, laws P and Q and an executor of other packages, from `dsrs certify` to `dsrs report`.

Each is one file and one line: what is registered in the fixture is all that the package is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrs.cli.main import main
from dsrs.errors import InvalidInput
from dsrs.laws import LAW_KINDS, SMOOTHING_KINDS, GeneralizedGaussian, register_smoothing
from dsrs.laws import register as register_law
from dsrs.methods import METHODS, Plan, methods_of
from dsrs.methods import register as register_method
from dsrs.noise import Stream
from dsrs.proofs import PROOF_KINDS, certify, check
from dsrs.proofs import register as register_proof
from dsrs.store import RunResult, open_run
from dsrs.votes import EXECUTORS, register_executor
from house.toys.first_miss import ENTRY, HalfSpace, gaussian_radius
from house.toys.rows import PieceByPiece
from house.toys.shaped import Shaped
from laws.annulus import Annulus

MODEL = """
import numpy as np
def bright(batch):
    score = batch.reshape(len(batch), -1).mean(axis=1) - np.float32(0.5)
    return np.stack([-score, score], axis=1)
"""
SOURCE = ("--model", "own_model:bright", "--num-classes", "2", "--data", "data.npz")
PLAN = ("--sigma", "0.5", "--n", "700", "--batch-size", "64")
METHOD_WORDS = ("--q", "first-miss", "--q", "annulus:0.1-0.7", "--q", "tailored")


@pytest.fixture
def toys() -> Iterator[None]:
    """Register the toys, and leave the registries as they were."""
    registries: tuple[dict[str, Any], ...] = (
        *(LAW_KINDS, SMOOTHING_KINDS, METHODS, PROOF_KINDS),
        EXECUTORS,
    )
    before = [dict(registry) for registry in registries]
    register_law(Annulus)
    register_smoothing(Shaped)
    register_method(ENTRY)
    register_proof(HalfSpace)
    register_executor("pieces", PieceByPiece)
    yield
    for registry, entries in zip(registries, before, strict=True):
        registry.clear()
        registry.update(entries)


@pytest.fixture
def folder(toys: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model and data, in a process that knows the toys."""
    (tmp_path / "own_model.py").write_text(MODEL)
    means = np.array([0.95, 0.1, 0.8])[:, None, None]
    images = np.broadcast_to(means, (3, 4, 4)).astype(np.float32)
    np.savez(tmp_path / "data.npz", images=images, labels=np.array([1, 0, 1]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Path:
    assert main(["certify", *SOURCE, *PLAN, *METHOD_WORDS, "--output", "run", "--quiet"]) == 0
    return folder / "run"


def results(path: Path) -> list[RunResult]:
    with open_run(path) as opened:
        return list(opened.results())


def printed(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    capsys.readouterr()
    assert main([*words]) == code
    return capsys.readouterr().out


def test_they_certify_and_are_kept(run: Path) -> None:
    for result in results(run):
        assert list(result.certificates) == ["np", "first-miss", "annulus", "tailored"]
        made = result.certificates["first-miss"]
        under_p = result.sampled.first(Stream("estimation", made.law), 700)
        sample = under_p.tallies["least-miss"]["sample"]
        assert isinstance(made.proof, HalfSpace)
        assert made.proof.p_lower == pytest.approx(0.001 ** (1 / (sample or 700)), abs=1e-6)
        assert 0 < made.radius <= gaussian_radius(made.law, made.proof.p_lower)
        assert check(made)
        (observed,) = result.certificates["annulus"].observations
        assert observed.law == Annulus(made.law, 0.1, 0.7)
        assert check(result.certificates["annulus"])


def test_another_executor_counts_the_same_votes_and_tallies(run: Path, folder: Path) -> None:
    before = PieceByPiece.opened
    words = ["certify", *SOURCE, *PLAN, *METHOD_WORDS, "--output", "pieces", "--quiet"]
    assert main([*words, "--cluster", "pieces://here"]) == 0
    assert PieceByPiece.opened == before + 1
    both = zip(results(run), results(folder / "pieces"), strict=True)
    assert all(one.votes == other.votes for one, other in both)


def test_a_run_is_certified_again_exported_imported_and_shown(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--alpha", "0.1", "--method", "first-miss", "--output", "bold")
    assert main(["recertify", "run", *words]) == 0
    for bold, usual in zip(results(Path("bold")), results(run), strict=True):
        assert bold.certificates["first-miss"].radius > usual.certificates["first-miss"].radius
    assert main(["export", "run", "--format", "jsonl", "--output", "rows.jsonl"]) == 0
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    (first, *_) = [row for row in rows if row["method"] == "first-miss"]
    assert json.loads(first["proof"])["kind"] == "half-space"
    (law, *_) = [row["q_law"] for row in rows if row["method"] == "annulus"]
    assert law == "annulus:0.1-0.7"
    assert "12" in printed(capsys, "import", "rows.jsonl")
    assert "first-miss" in printed(capsys, "show", "run")


def test_reports_call_them_by_their_titles(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, "report", "run", "--output", "page.html")
    page = Path("page.html").read_text()
    assert "first miss" in page
    assert "annulus" in page


def test_tune_forecasts_the_method(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["landscape", *SOURCE, "--output", "look", "--quiet"]) == 0
    answer = json.loads(printed(capsys, "tune", "--landscape", "look", "--sigma", "0.5", "--json"))
    current = {each["method"]: each["acr"] for each in answer["current"]}
    assert 0 < current["first-miss"] < current["np"]
    assert "landscape" not in current


def test_the_checker_knows_their_laws_and_says_what_it_lacks(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A law on its shells is proved; a proof of another kind has no form in proof files."""
    found = json.loads(printed(capsys, "check", "run", "--json", code=1))
    assert (found["proved"], found["not_proved"]) == (9, 3)
    reasons = [each["reason"] for each in found["certificates"] if not each["proved"]]
    assert all("half-space" in reason for reason in reasons), reasons


def test_another_smoothing_law_is_sampled_kept_and_certified_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    law = Shaped.of_shape(16, 0.5, 5.0)
    Path("shaped.json").write_text(json.dumps({"law": law.to_dict(), "method": "tailored"}))
    words = ["--law", "shaped.json", "--n", "700", "--batch-size", "64", "--output", "shaped"]
    assert main(["certify", *SOURCE, *words, "--quiet"]) == 0
    assert main(["recertify", "shaped", "--output", "again"]) == 0
    assert main(["export", "shaped", "--format", "csv", "--output", "rows.csv"]) == 0
    assert main(["report", "shaped", "--output", "page.html"]) == 0
    plain = GeneralizedGaussian(16, 0.5, 3.0)
    for result, again in zip(results(folder / "shaped"), results(folder / "again"), strict=True):
        assert result.certificates == again.certificates
        for made in result.certificates.values():
            assert made.law == law
            assert check(made)
        # The same law by its other name has the same certificate.
        p = result.certificates["np"].known_of_p
        assert certify(plain, p).radius == certify(law, p).radius
    checked = json.loads(printed(capsys, "check", "shaped", "--json"))
    assert checked["proved"] > checked["not_proved"] == 0


def test_help_tells_of_the_method(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "certify", "--help")
    assert "first-miss: votes under P up to the first that misses" in text
    for entry in METHODS.values():
        assert entry.help in text


def test_what_does_not_fit_is_refused_before_any_vote(folder: Path) -> None:
    assert main(["certify", *SOURCE, *PLAN, "--k", "3", *METHOD_WORDS, "--output", "other"]) == 2
    assert main(["certify", *SOURCE, *PLAN, "--cluster", "nowhere://x", "--output", "other"]) == 2
    assert not Path("other").exists()
    plan = Plan(GeneralizedGaussian(16, 0.5), ("first-miss",))
    assert list(methods_of(plan)) == ["first-miss"]
    with pytest.raises(InvalidInput, match="for Gaussian noise"):
        methods_of(plan.replace(law=GeneralizedGaussian(16, 0.5, 3)))
    with pytest.raises(InvalidInput, match="it has no looks"):
        methods_of(plan.replace(radius=1.0))


def test_a_name_is_given_once(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="there is a method named 'first-miss' already"):
        register_method(replace(ENTRY, title="another"))
    with pytest.raises(InvalidInput, match="there is an executor named 'ray' already"):
        register_executor("ray", PieceByPiece)
