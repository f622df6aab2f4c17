"""Files that say one thing to `dsrs check` and another to those who read them, or to themselves."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("flint")

from audit.small_runs import PLANS, make_run, rewrite
from dsrs import Interval, certify
from dsrs.cli.main import main
from dsrs.laws import GeneralizedGaussian
from dsrs.store import open_run
from dsrs.store.schema import STORE_NAME

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
