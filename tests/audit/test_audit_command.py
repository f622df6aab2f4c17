"""`dsrs audit` on files of certificates and on tables."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("flint")

from dsrs import Interval, Observation, Rescaled, certify
from dsrs.cli.main import main
from dsrs.laws import GeneralizedGaussian

MNIST, PLAIN = GeneralizedGaussian(784, 0.5, 380), GeneralizedGaussian(784, 0.5)
ROWS = """index,d,k,sigma,p_lower,p_upper,q_law,q_lower,q_upper
0,784,380,0.5,0.93,0.95,truncated:0.6,0.98,0.99
1,784,380,0.5,0.97,0.98,rescaled:0.8x,0.95,0.96
2,784,0,0.5,0.93,0.95,,,
3,784,380,0.5,0.3,0.4,truncated:heuristic,0.3,0.4
4,784,380,0.5,0.93,1.95,,,
5,784,380,0.5,0.93,0.95,truncated:heuristic,0.97,0.98
6,784,380,0.5,0.93,0.95,truncated:T=14,0.96,0.98
"""


def audited(source: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict]:  # type: ignore[type-arg]
    capsys.readouterr()
    code = main(["audit", str(source), "--json", "--quiet", *options])
    return code, json.loads(capsys.readouterr().out)


def counts(found: dict) -> tuple[int, int, int]:  # type: ignore[type-arg]
    return found["verified"], found["refuted"], found["undecided"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS)
    main(["recertify", str(tmp_path / "rows.csv"), "--output", str(tmp_path / "out.csv")])
    return tmp_path / "out.csv"


def test_tables_keep_whole_proofs(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = audited(table, capsys)
    # The row that could not be read has no certificate.
    assert (code, counts(found)) == (0, (6, 0, 0))
    assert [each["name"] for each in found["certificates"]][:2] == ["line 2", "line 3"]
    assert found["certificates"][1]["steps"] > 3


def changed(table: Path, line: int, **cells: str) -> Path:
    """A table of one of the rows, with other cells."""
    with table.open() as file:
        rows = list(csv.DictReader(file))
    rows = [rows[line] | cells]
    target = table.with_name("changed.csv")
    with target.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return target


def test_changed_rows_are_refuted(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line, cells in (
        (0, {"certified_radius": "0.9"}),
        (0, {"q_law": "truncated:0.59"}),
        (1, {"p_lower": "0.96"}),
        (2, {"np_radius": "0.74", "certified_radius": "0.74"}),
    ):
        code, found = audited(changed(table, line, **cells), capsys)
        assert (code, counts(found)) == (1, (0, 1, 0)), (line, cells)


def test_without_its_proof_a_chain_is_not_verified(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables of earlier versions have one step, in columns of its own."""
    code, found = audited(changed(table, 0, proof=""), capsys)
    assert (code, counts(found)) == (0, (1, 0, 0))
    code, found = audited(changed(table, 1, proof=""), capsys)
    assert (code, counts(found)) == (1, (0, 1, 0))
    code, found = audited(changed(table, 0, proof="", lambda_p=""), capsys)
    assert (code, counts(found)) == (0, (0, 0, 1))
    assert "no proof" in found["certificates"][0]["reason"]


def test_files_of_certificates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = certify(
        MNIST, Interval(0.93, 0.95), Observation(Rescaled(MNIST, 0.4), Interval(0.96, 1))
    )
    fields = found.to_dict()
    one, several = tmp_path / "certificate.json", tmp_path / "several.json"
    one.write_text(json.dumps(fields, indent=2))
    assert main(["audit", str(one), "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("1 verified, 0 refuted, 0 undecided, in ")
    fields["proof"][0]["dual_bound"] = 0.6
    plain = certify(PLAIN, Interval(0.93, 0.95))
    several.write_text(plain.to_json() + "\n" + json.dumps(fields) + "\n")
    code, answer = audited(several, capsys)
    assert (code, counts(answer)) == (1, (1, 1, 0))
    assert set(answer) == {"verified", "refuted", "undecided", "seconds", "certificates"}
    assert [each["verdict"] for each in answer["certificates"]] == ["verified", "refuted"]


def test_a_sample_is_drawn_from_its_seed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    certificates = [certify(PLAIN, Interval(0.6 + i / 100, 1.0)).to_json() for i in range(20)]
    source = tmp_path / "all.json"
    source.write_text("\n".join(certificates))
    names = []
    for seed in ("1", "1", "2"):
        _, found = audited(source, capsys, "--sample", "3", "--seed", seed)
        names.append([each["name"] for each in found["certificates"]])
    assert len(names[0]) == 3
    assert names[0] == names[1] != names[2]


def test_a_missing_extra_names_its_pip_line(tmp_path: Path) -> None:
    source = tmp_path / "certificate.json"
    source.write_text(certify(PLAIN, Interval(0.9, 1.0)).to_json())
    program = "import sys; sys.modules['flint'] = None; from dsrs.cli.main import main; main()"
    command = [sys.executable, "-c", program, "audit", str(source)]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    assert "pip install 'dsrs[audit]'" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "no certificates"), ("{}", "`law` is missing"), ("[1", "in JSON"), ("3", "`law`")],
)
def test_what_is_no_certificate_is_said(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file.json").write_text(text)
    assert main(["audit", str(tmp_path / "file.json"), "--quiet"]) == 2
    assert said in capsys.readouterr().err
