"""`dsrs check`: runs, tables and files of certificates, and whom they are about."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dsrs
from dsrs import Interval, Observation, Rescaled, certify
from dsrs.certifying import retake_votes
from dsrs.classifiers import from_callable
from dsrs.cli.main import main
from dsrs.datasets import Dataset
from dsrs.errors import StoreMismatch
from dsrs.evidence import check_file
from dsrs.laws import GeneralizedGaussian
from dsrs.store import open_run
from evidence.conftest import Runs
from evidence.small_runs import INPUTS, classify, rewrite

MNIST, PLAIN = GeneralizedGaussian(784, 0.5, 380), GeneralizedGaussian(784, 0.5)
ROWS = """index,d,k,sigma,p_lower,p_upper,q_law,q_lower,q_upper
0,784,380,0.5,0.93,0.95,,,
1,784,380,0.5,0.97,0.98,rescaled:0.8x,0.95,0.96
2,784,0,0.5,0.93,0.95,,,
3,784,380,0.5,0.3,0.4,truncated:heuristic,0.3,0.4
4,784,380,0.5,0.93,1.95,,,
"""


def checked(source: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, Any]:
    capsys.readouterr()
    code = main(["check", str(source), "--json", "--quiet", *options])
    return code, json.loads(capsys.readouterr().out)


def counts(found: Any) -> tuple[int, int, int]:
    return found["proved"], found["not_proved"], found["abstained"]


# --------------------------------------------------------------------------------- what is printed


def test_tables_are_proved_with_their_bounds_as_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.csv").write_text(ROWS)
    main(["recertify", str(tmp_path / "rows.csv"), "--output", str(tmp_path / "out.csv")])
    code, found = checked(tmp_path / "out.csv", capsys)
    # The row that could not be certified has no certificate, and another one abstains.
    assert (code, counts(found)) == (0, (3, 0, 2))
    assert found["given"] == sum(each["given"] for each in found["certificates"]) >= 3
    assert next(each["name"] for each in found["certificates"]) == "input line 2, given"


def test_a_forged_run_is_not_proved(copied: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copied("np")
    rewrite(folder, 1, "radius = 1.1 * radius")
    code, found = checked(folder, capsys)
    assert (code, counts(found)) == (1, (1, 1, 1))
    assert main(["check", str(folder), "--quiet"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("NOT PROVED: input 1, np")
    assert said.splitlines()[-1] == "1 of 2 proved, 1 claim nothing"


def test_lines_say_what_differs_and_what_all_share_once(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(runs("grid")), "--quiet"]) == 0
    *lines, shared, given, proof, program, counted = capsys.readouterr().out.splitlines()
    assert shared.startswith("in common: class 0, alpha 0.001, n 600, seed 0 (public), model name:")
    assert given == "taken as given: that votes were counted honestly, of this model"
    assert proof.startswith("SHA-256 of the proof file ")
    assert program.startswith("SHA-256 of the checker ")
    assert counted == f"{len(lines)} of {len(lines)} proved, {9 - len(lines)} claim nothing"
    for line in lines:
        assert re.fullmatch(
            r"PROVED: input \d, (np|tailored|rescaled:0.8x), radius [\d.]+, "
            r"input [0-9a-f]{12}",
            line,
        ), line


def test_the_proof_file_is_kept_and_checked_again(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "proof.jsonl"
    words = ["check", str(runs("np")), "--quiet", "--proof", str(path)]
    assert main(words) == 0
    again = check_file(path)
    assert (len(again), again.proved) == (2, 2)
    assert again.summary["file_sha256"] in capsys.readouterr().out
    assert main(words) == 2  # it is there already
    assert main([*words, "--overwrite"]) == 0
    kept = dsrs.check(runs("np"), proof=tmp_path / "other.jsonl")
    assert kept.summary["file_sha256"] == again.summary["file_sha256"]


def test_files_of_certificates_and_exit_codes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    true = certify(PLAIN, Interval(0.93, 0.95)).to_dict()
    other = certify(
        MNIST, Interval(0.93, 0.95), Observation(Rescaled(MNIST, 0.4), Interval(0.96, 1))
    )
    nothing = certify(PLAIN, Interval(0.3, 0.95)).to_dict()
    unknown, false = true | {"hue": 3}, {**true, "radius": 9.0}
    source = tmp_path / "file.json"
    for entries, code, expected in (
        ([true], 0, (1, 0, 0)),
        ([true, other.to_dict(), nothing], 0, (2, 0, 1)),
        ([nothing], 1, (0, 0, 1)),
        ([true, unknown], 1, (1, 1, 0)),
        ([true, unknown, false], 1, (1, 2, 0)),
    ):
        for text in ("\n".join(map(json.dumps, entries)), json.dumps(entries, indent=2)):
            source.write_text(text)
            found_code, found = checked(source, capsys)
            assert (found_code, counts(found)) == (code, expected)
    assert main(["check"]) == 2
    assert main(["check", str(tmp_path / "absent.json")]) == 2
    assert main(["audit", str(source), "--quiet"]) == 1


@pytest.mark.parametrize(("text", "code"), [("", 2), ("[1", 1), ("[", 1), ("[" * 100_000, 1)])
def test_what_holds_no_certificate_proves_nothing(
    text: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file.json").write_text(text)
    assert main(["check", str(tmp_path / "file.json"), "--quiet"]) == code
    assert "Traceback" not in capsys.readouterr().err


def test_a_sample_is_drawn_from_its_seed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    certificates = [certify(PLAIN, Interval(0.6 + i / 100, 1.0)).to_json() for i in range(20)]
    source = tmp_path / "all.json"
    source.write_text("\n".join(certificates))
    names = []
    for seed in ("1", "1", "2"):
        _, found = checked(source, capsys, "--sample", "3", "--seed", seed)
        names.append([each["name"] for each in found["certificates"]])
    assert len(names[0]) == 3
    assert names[0] == names[1] != names[2]
    _, found = checked(source, capsys, "--first", "19")
    assert len(found["certificates"]) == 2


# ----------------------------------------------------------------------------- texts of strangers


def test_lines_of_json_end_where_json_says(tmp_path: Path) -> None:
    """U+2028 may stand in a text of JSON, and ends a line for Python."""
    subject = {"class": 1, "class_name": "a\u2028b", "alpha": 0.001, "method": "np", "n": 100}
    subject |= {"seed": 0, "seed_public": True, "index": 0}
    plain = certify(PLAIN, Interval(0.93, 0.95)).to_dict()
    named = plain | {"subject": subject}
    source = tmp_path / "two.jsonl"
    lines = (json.dumps(fields, ensure_ascii=False) for fields in (named, plain))
    source.write_text("\r\n".join(lines), encoding="utf-8", newline="")
    assert main(["check", str(source), "--quiet"]) == 0
    program = "import sys; sys.stdout.reconfigure(encoding='ascii'); import dsrs.cli.main as cli; "
    command = [sys.executable, "-c", program + "sys.exit(cli.main())", "check", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "\\u2028" in done.stdout) == (0, True), done.stderr


def test_dates_that_python_does_not_have_are_refused(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = tmp_path / "rows.jsonl"
    assert main(["export", str(runs("np")), "--format", "jsonl", "--output", str(table)]) == 0
    row = json.loads(table.read_text().splitlines()[1])
    cells = {name: [cell] for name, cell in row.items() if cell is not None}
    late = pyarrow.array([2**62], pyarrow.timestamp("us"))
    parquet.write_table(pyarrow.table(cells | {"note": late}), tmp_path / "late.parquet")
    assert main(["check", str(tmp_path / "late.parquet"), "--quiet"]) == 2
    assert "cannot be read as Parquet" in capsys.readouterr().err


def test_another_package_called_flint_is_not_used(tmp_path: Path) -> None:
    """The checker is started without the folders that a caller may have named."""
    (tmp_path / "flint.py").write_text("raise SystemExit('read')")
    source = tmp_path / "one.json"
    source.write_text(certify(PLAIN, Interval(0.93, 0.95)).to_json())
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import dsrs.cli.main as cli; "
    command = [sys.executable, "-c", program + "sys.exit(cli.main())", "check", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


# -------------------------------------------------------- is it about this model, and these votes?

SOURCE = ("--model", "evidence.small_runs:classify", "--num-classes", "3")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of `dsrs certify`, with its data and the certificate of one input beside it."""
    found = tmp_path_factory.mktemp("subject")
    images = INPUTS.reshape(-1, 1, 4, 4)
    np.savez(found / "data.npz", images=images, labels=classify(images))
    np.save(found / "one.npy", images[1])
    np.save(found / "other.npy", images[2])
    words = ["--data", str(found / "data.npz"), "--sigma", "0.5", "--n", "200", "--quiet"]
    assert main(["certify", *SOURCE, *words, "--output", str(found / "run")]) == 0
    with open_run(found / "run") as run:
        certificate = run.result(1).certificates["np"]
    assert certificate.radius > 0
    (found / "one.json").write_text(certificate.to_json())
    return found


def test_votes_taken_again_are_the_stored_ones(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(folder / "run"), "--votes", "2", "--quiet", *SOURCE]) == 0
    said = capsys.readouterr().out
    assert said.count("votes are the stored ones") == 2
    assert main(["check", str(folder / "run"), "--votes", "9", "--quiet", "--json", *SOURCE]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["index"] for one in found["votes"]] == [0, 1, 2]


def test_votes_that_the_model_did_not_give_are_found(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder / "run", tmp_path / "run")
    # The same numbers of votes, but some of the certified class are now in other radial bins.
    with sqlite3.connect(tmp_path / "run" / "run.sqlite") as store:
        (body,) = store.execute("SELECT body FROM votes WHERE idx = 1 AND position = 0").fetchone()
        votes = json.loads(body)
        votes["trials"] = votes["trials"][::-1]
        votes["hits"] = votes["hits"][::-1]
        store.execute(
            "UPDATE votes SET body = ? WHERE idx = 1 AND position = 0", (json.dumps(votes),)
        )
    store.close()
    rewrite(tmp_path / "run", 1, "radius = radius")
    assert main(["check", str(tmp_path / "run"), "--votes", "3", "--quiet", *SOURCE]) == 1
    said = capsys.readouterr().out
    assert "NOT PROVED" not in said  # the certificates follow from the votes
    assert "votes of input 1, taken again: estimation votes from 0 on" in said
    assert said.count("votes are the stored ones") == 2


def test_another_model_or_other_data_cannot_vote_again(folder: Path) -> None:
    images = INPUTS.reshape(-1, 1, 4, 4)
    other = from_callable(lambda rows: np.zeros(len(rows), int), (1, 4, 4), 3)
    data = Dataset.from_arrays(images, classify(images))
    with pytest.raises(StoreMismatch, match="not the model"):
        next(retake_votes(folder / "run", other, data, 1))
    assert main(["check", str(folder / "one.json"), "--votes", "1"]) == 2


def test_fingerprints_of_model_and_input_are_compared(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, code, said in (("one", 0, "PROVED"), ("other", 1, "another input")):
        words = [str(folder / "one.json"), *SOURCE, "--input", str(folder / f"{name}.npy")]
        assert main(["check", *words, "--quiet"]) == code
        assert said in capsys.readouterr().out
    words = ["--model", "evidence.small_runs:within_slab", "--num-classes", "3"]
    words += ["--input", str(folder / "one.npy")]
    assert main(["check", str(folder / "one.json"), *words, "--quiet"]) == 1
    assert "another model" in capsys.readouterr().out
    silent = json.loads((folder / "one.json").read_text()) | {"subject": None}
    (folder / "silent.json").write_text(json.dumps(silent))
    words = [str(folder / "silent.json"), "--input", str(folder / "one.npy")]
    assert main(["check", *words, "--quiet"]) == 1
    assert "does not say which input" in capsys.readouterr().out


def test_an_input_without_the_salt_of_its_fingerprint(tmp_path: Path) -> None:
    source, values = tmp_path / "one.json", tmp_path / "one.npy"
    np.save(values, np.zeros(20, np.float32))
    fields = certify(PLAIN, Interval(0.93, 0.95)).to_dict()
    source.write_text(json.dumps(fields | {"subject": {"input": "salted:0"}}))
    assert main(["check", str(source), "--input", str(values), "--quiet"]) == 1
