"""Files that say one thing to `dsrs check` and another to those who read them, or to themselves."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flint")


from audit.small_runs import PLANS, Forgery, make_run, rewrite
from dsrs import Interval, Observation, Truncated, certify
from dsrs.audit.checking import check_certificate
from dsrs.audit.items import item_of_row
from dsrs.audit.methods.ballots import Ballots
from dsrs.cli.main import main
from dsrs.laws import GeneralizedGaussian
from dsrs.proofs.certification import certificate_of
from dsrs.proofs.lead import find_lead
from dsrs.store import open_run
from dsrs.store.opening import STORE_NAME, checksum_of

PLAIN = GeneralizedGaussian(20, 0.5)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "np", PLANS["np"])


def alone() -> dict[str, Any]:
    return certify(PLAIN, Interval(0.93, 0.95)).to_dict()


def test_a_view_shows_no_certificates_that_only_the_check_sees(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the other reader sets `foreign_keys`, on which a view may depend."""
    two_faced, forged = (
        Path(shutil.copytree(run, tmp_path / name)) for name in ("two-faced", "forged")
    )
    rewrite(forged, 1, "radius = 7.5")
    other = "(SELECT foreign_keys FROM pragma_foreign_keys)"
    with sqlite3.connect(two_faced / STORE_NAME) as store:
        store.execute("ATTACH ? AS other", (str(forged / STORE_NAME),))
        for name in ("certificate", "input"):
            store.execute(f"ALTER TABLE {name} RENAME TO shown_{name}")
            store.execute(f"CREATE TABLE forged_{name} AS SELECT * FROM other.{name}")
            store.execute(
                f"CREATE VIEW {name} AS SELECT * FROM shown_{name} WHERE NOT {other} "
                f"UNION ALL SELECT * FROM forged_{name} WHERE {other}"
            )
    store.close()
    with open_run(two_faced) as read:
        assert read.result(1).certificates["np"].radius == 7.5
    assert main(["check", str(two_faced), "--quiet"]) == 2
    assert "holds more than tables: 'certificate'" in capsys.readouterr().err


def test_lines_of_json_end_where_json_says(tmp_path: Path) -> None:
    """U+2028 may stand in a text of JSON, and ends a line for Python."""
    named = alone() | {"subject": {"class": 1, "class_name": "a\u2028b"}}
    source = tmp_path / "two.jsonl"
    lines = (json.dumps(fields, ensure_ascii=False) for fields in (named, alone()))
    source.write_text("\r\n".join(lines), encoding="utf-8", newline="")
    assert main(["check", str(source), "--quiet"]) == 0


def test_names_that_a_terminal_cannot_show_are_written_out(tmp_path: Path) -> None:
    source = tmp_path / "one.json"
    source.write_text(json.dumps(alone() | {"subject": {"class": 1, "class_name": "caf\u00e9"}}))
    program = "import sys; sys.stdout.reconfigure(encoding='ascii'); import dsrs.cli.main as cli; "
    command = [sys.executable, "-c", program + "sys.exit(cli.main())", "check", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "class 1 (caf\\xe9)" in done.stdout) == (0, True), done.stderr


def test_a_prediction_is_what_the_votes_make_it(run: Path) -> None:
    """Reports count it as right or wrong."""
    forged = Forgery(run, 1, "np")
    assert forged.checked()
    for predicted, word in ((2, "refuted"), (None, "verified"), ("0", "refuted")):
        forged.votes = {**forged.votes, "predicted": predicted}
        assert forged.checked().word == word


CERTIFIED = {
    "P alone": lambda: certify(PLAIN, Interval(0.93, 0.95)),
    "sure": lambda: certify(PLAIN, Interval(1.0, 1.0)),
    "truncated": lambda: certify(
        PLAIN, Interval(0.6, 0.95), Observation(Truncated(PLAIN, 0.6), Interval(0.93, 0.99))
    ),
    "leading": lambda: certificate_of(PLAIN, find_lead(PLAIN, 0.5, 0.07)),
}


@pytest.mark.parametrize("name", CERTIFIED)
def test_no_votes_show_more_than_n_hits_of_n(name: str) -> None:
    """0.93 to the power 95 is 0.00101, to the power 96 it is 0.00094."""
    fields = CERTIFIED[name]().to_dict()
    for n, word in ((95, "refuted"), (96, "refuted" if name == "sure" else "verified")):
        verdict = check_certificate(fields | {"subject": {"n": n, "alpha": 0.001}})
        assert verdict.word == word, verdict


def exported(run: Path, tmp_path: Path) -> dict[str, Any]:
    table = tmp_path / "rows.jsonl"
    assert main(["export", str(run), "--format", "jsonl", "--output", str(table)]) == 0
    row: dict[str, Any] = json.loads(table.read_text().splitlines()[1])
    return row


def test_rows_of_too_few_votes_are_refuted(run: Path, tmp_path: Path) -> None:
    row = exported(run, tmp_path)
    assert item_of_row("row", row).check()
    assert item_of_row("row", row | {"n": 3}).check().word == "refuted"
    assert item_of_row("row", row | {"alpha": 1e-90}).check().word == "refuted"
    # Columns that were given to `recertify` may mean other votes.
    given = row | {"n": 3, "certified_radius": row["radius"]}
    assert item_of_row("row", given).check()


@pytest.mark.parametrize("name", ["radius", "linf_radius", "l1_radius"])
def test_the_row_of_an_error_has_no_radius_of_any_name(
    name: str, run: Path, tmp_path: Path
) -> None:
    row = {**exported(run, tmp_path), "proof": None, "np_radius": None, "radius": None}
    failed = row | {"status": "error: no such law"}
    assert item_of_row("row", failed).check().word == "abstained"
    assert item_of_row("row", failed | {name: 7.5}).check().word == "refuted"
    # One that was given to `recertify` is not what is certified.
    assert item_of_row("row", failed | {name: 7.5, "certified_radius": ""}).check().word == (
        "abstained"
    )


@pytest.mark.parametrize(
    "change",
    [{"sampled_plan": None}, {"sampled_plan": {}}, {"model": None}, {"model": {}}],
    ids=str,
)
def test_configs_that_only_one_reader_understands(
    change: dict[str, Any], run: Path, tmp_path: Path
) -> None:
    """`sampled_plan` was taken for missing by the check alone; the others ended in a traceback."""
    folder = Path(shutil.copytree(run, tmp_path / "run"))
    with sqlite3.connect(folder / STORE_NAME) as store:
        config = json.loads(store.execute("SELECT config FROM run").fetchone()[0])
        text = json.dumps(config | change)
        store.execute("UPDATE run SET config = ?, checksum = ?", (text, checksum_of(text)))
    store.close()
    for more in ([], ["--votes", "1"]):
        code = main(["check", str(folder), "--quiet", *more])
        assert code in (1, 2) if "sampled_plan" in change or more else code == 0


def test_dates_that_python_does_not_have_are_refused(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    cells = {name: [cell] for name, cell in exported(run, tmp_path).items() if cell is not None}
    late = pyarrow.array([2**62], pyarrow.timestamp("us"))
    parquet.write_table(pyarrow.table(cells | {"note": late}), tmp_path / "late.parquet")
    assert main(["check", str(tmp_path / "late.parquet"), "--quiet"]) == 2
    assert "cannot be read as Parquet" in capsys.readouterr().err


def test_an_input_without_the_salt_of_its_fingerprint(tmp_path: Path) -> None:
    source, values = tmp_path / "one.json", tmp_path / "one.npy"
    np.save(values, np.zeros(20, np.float32))
    source.write_text(json.dumps(alone() | {"subject": {"input": "salted:0"}}))
    assert main(["check", str(source), "--input", str(values), "--quiet"]) == 1


def test_votes_in_very_many_parts_are_counted_in_time(run: Path) -> None:
    """Each part was compared with the sum of all parts before it."""
    forged = Forgery(run, 1, "np")
    part: dict[str, Any] = {"law": None, "tallies": {}}
    part["purpose"] = "estimation"
    one = part | {"counts": [1] + [0] * 20, "trials": [1], "hits": [1]}
    votes = {**forged.votes, "votes": [one | {"start": n} for n in range(10_000)]}
    began = time.thread_time()
    assert Ballots(votes).taken("estimation", None) == 10_000
    assert time.thread_time() - began < 5
