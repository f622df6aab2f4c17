"""Certificates, tables and runs of the version before (format 2): read, checked, certified again.

The files were written by the last commit of that version, 524d6f0: small runs of every method and
kind of proof, certificates by themselves, and tables that were exported from two of the runs.
"""

from __future__ import annotations

import csv
import gzip
import json
import sqlite3
from pathlib import Path

import pytest

from dsrs.certifying.again import certify_again
from dsrs.cli.main import main
from dsrs.errors import DataError, StoreError
from dsrs.exchange.importing import import_rows
from dsrs.laws.grid import Grid
from dsrs.proofs.certificate import Certificate
from dsrs.proofs.checking import find_flaw
from dsrs.store import open_run, start_run
from dsrs.store.merging import merge_runs
from dsrs.store.schema import STORE_NAME, checksum_of

HERE = Path(__file__).parent
RUNS = sorted(file.name.partition(".")[0] for file in (HERE / "runs").iterdir())
LINES = (HERE / "certificates.jsonl").read_text().splitlines()


def unpacked(name: str, folder: Path) -> Path:
    folder.mkdir()
    packed = HERE / "runs" / f"{name}.sqlite.gz"
    (folder / STORE_NAME).write_bytes(gzip.decompress(packed.read_bytes()))
    return folder


def stored_radii(folder: Path) -> dict[tuple[int, str], float]:
    """The radii as SQLite has them, without any code of this package."""
    with sqlite3.connect(folder / STORE_NAME) as store:
        rows = store.execute("SELECT idx, method, radius FROM certificate").fetchall()
    return {(index, method): radius for index, method, radius in rows}


def test_there_are_proofs_of_every_kind() -> None:
    read = [Certificate.from_json(line) for line in LINES]
    assert {found.proof.kind for found in read if found.proof} == {"dual", "lead", "slab"}
    assert {found.status for found in read} == {"certified", "abstained"}


@pytest.mark.parametrize("line", LINES)
def test_a_certificate_is_read_and_holds(line: str) -> None:
    old, found = json.loads(line), Certificate.from_json(line)
    assert find_flaw(found) is None
    assert found.radius == float(old["radius"])
    if old["p"] == [0.0, 1.0]:
        assert found.np_radius is None
    else:
        assert found.np_radius == float(old["np_radius"])
    assert found.subject is None
    assert Certificate.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "magic"}, "method"),
        ({"rival": 0.1}, "leading-class"),
        ({"gradient": 0.1}, "first-order"),
        ({"p": 5}, "`p` must be a list"),
        ({"proof": None}, "`proof` must be a list"),
        ({"additional": [{"kind": "rescaled", "value": 0.4, "q": [0.9, 1.0]}]}, "law` is missing"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_what_is_wrong_with_an_old_certificate_is_named(
    change: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        Certificate.from_dict(json.loads(LINES[0]) | change)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_read_checked_and_certified_again_to_the_same_radii(
    name: str, tmp_path: Path
) -> None:
    folder = unpacked(name, tmp_path / "run")
    expected = stored_radii(folder)
    with open_run(folder) as run:
        results, again = list(run.results()), list(certify_again(run, run.plan))
    found = {(one.index, by): made for one in results for by, made in one.certificates.items()}
    assert {key: made.radius for key, made in found.items()} == expected
    assert [flaw for made in found.values() if (flaw := find_flaw(made))] == []
    for result in again:
        for method, made in result.certificates.items():
            # Not to the last bit: a later search may end a little higher or lower.
            radius = expected[result.index, method]
            assert made.radius == pytest.approx(radius, rel=1e-9, abs=1e-12), (method, radius)
            assert made.subject == found[result.index, method].subject


def test_an_old_run_says_what_it_is_about_but_not_which_input(tmp_path: Path) -> None:
    with open_run(unpacked("shifted-grid", tmp_path / "run")) as run:
        result, plan = run.result(3), run.plan
        model = run.config["model"]["fingerprint"]
    found = result.certificates["tailored"]
    assert found.subject is not None
    assert (found.subject.method, found.subject.index, found.subject.seed) == ("tailored", 3, 7)
    assert (found.subject.alpha, found.subject.n) == (plan.alpha, plan.n)
    assert (found.subject.model, found.subject.input) == (model, None)
    # The plan knows the origin, which old certificates did not.
    assert found.grid is not None
    assert found.grid.grid == Grid.of_bounds((-1.0, 1.0)) == plan.grid
    assert found.moved == result.sampled.moved > 0


def test_an_old_run_is_not_continued_but_its_copy_is(tmp_path: Path) -> None:
    old = unpacked("double", tmp_path / "old")
    with open_run(old) as run:
        config, before = run.config, list(run.results())
    kept = (old / STORE_NAME).read_bytes()
    with pytest.raises(StoreError, match=r"format 2 .* `dsrs merge"):
        start_run(old, config)
    assert (old / STORE_NAME).read_bytes() == kept
    merge_runs([old], tmp_path / "new")
    with start_run(tmp_path / "new", config) as writer:
        assert writer.finished() == {result.index for result in before}
    with open_run(tmp_path / "new") as run:
        assert list(run.results()) == before


def test_a_run_from_before_there_was_a_grid_has_none(tmp_path: Path) -> None:
    folder = unpacked("np", tmp_path / "run")
    with sqlite3.connect(folder / STORE_NAME) as store:
        ((text,),) = store.execute("SELECT config FROM run").fetchall()
        config = json.loads(text)
        del config["plan"]["grid"]
        text = json.dumps(config)
        store.execute("UPDATE run SET config = ?, checksum = ?", (text, checksum_of(text)))
    with open_run(folder) as run:
        assert run.plan.grid is None
        assert all(found.grid is None for found in run.result(0).certificates.values())


def test_damage_in_an_old_run_is_found(tmp_path: Path) -> None:
    folder = unpacked("np", tmp_path / "run")
    with sqlite3.connect(folder / STORE_NAME) as store:
        store.execute("UPDATE certificate SET radius = radius + 1 WHERE idx = 1")
    with open_run(folder) as run, pytest.raises(StoreError, match="checksum of input 1"):
        run.result(1)


def test_the_format_before_that_is_refused_with_the_reason(tmp_path: Path) -> None:
    folder = unpacked("np", tmp_path / "run")
    with sqlite3.connect(folder / STORE_NAME) as store:
        store.execute("PRAGMA user_version = 1")
    with pytest.raises(StoreError, match=r"format 1, .* from 2 on"):
        open_run(folder)


@pytest.mark.parametrize("name", ["double", "leading"])
def test_a_table_is_imported_and_certified_again(name: str, tmp_path: Path) -> None:
    source, target = HERE / f"{name}.csv", tmp_path / "again.csv"
    radii = [row.radius for row in import_rows(source) if row.radius is not None]
    assert main(["recertify", str(source), "--output", str(target), "--quiet"]) == 0
    with target.open() as file:
        again = [float(row["certified_radius"]) for row in csv.DictReader(file)]
    if name == "double":
        assert again == pytest.approx(radii, rel=1e-9)
    else:
        # A table keeps the bound of the class, and a majority is all that this alone can prove.
        assert all(now <= then for now, then in zip(again, radii, strict=True))


@pytest.mark.parametrize("name", ["certificates.jsonl", "double.csv", "leading.csv", *RUNS])
def test_the_rigorous_check_verifies_them(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = HERE / name if "." in name else unpacked(name, tmp_path / "run")
    assert main(["check", str(saved)]) == 0
    assert " 0 refuted, 0 undecided" in capsys.readouterr().out
