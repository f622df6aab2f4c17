"""`dsrs check` on files of certificates and on tables."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest

pytest.importorskip("flint")

from audit.small_runs import PLANS, make_run
from dsrs import Interval, Observation, Rescaled, certify
from dsrs.audit import VERDICT_WORDS, Verdict
from dsrs.cli.check_lines import verdict_lines
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


def checked(source: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict]:  # type: ignore[type-arg]
    capsys.readouterr()
    code = main(["check", str(source), "--json", "--quiet", *options])
    return code, json.loads(capsys.readouterr().out)


def counts(found: dict) -> tuple[int, int, int]:  # type: ignore[type-arg]
    return found["verified"], found["refuted"], found["undecided"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS)
    main(["recertify", str(tmp_path / "rows.csv"), "--output", str(tmp_path / "out.csv")])
    return tmp_path / "out.csv"


def test_tables_keep_whole_proofs(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = checked(table, capsys)
    # The row that could not be certified has no certificate, and another one abstains.
    assert (code, counts(found), found["abstained"]) == (0, (5, 0, 0), 2)
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
        code, found = checked(changed(table, line, **cells), capsys)
        assert (code, counts(found)) == (1, (0, 1, 0)), (line, cells)


def test_a_false_radius_beside_a_certified_one_is_refused(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`recertify` keeps the columns that it was given; only its own radius has a proof."""
    with table.open() as file:
        certified = float(next(csv.DictReader(file))["certified_radius"])
    for radius, code, word in (
        (certified, 0, "verified"),
        (0.5 * certified, 0, "verified"),
        (certified + 1e-6, 3, "undecided"),  # another program's rounding, which nothing proves
        (certified + 0.1, 1, "refuted"),
    ):
        found_code, found = checked(changed(table, 0, radius=repr(radius)), capsys)
        verdict = found["certificates"][0]
        assert (found_code, verdict["verdict"]) == (code, word), radius
        assert not verdict["reason"] or "`radius`" in verdict["reason"]


def test_columns_must_say_what_the_proof_starts_from(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for cells in ({"p_lower": "0.99"}, {"q_lower": "0.999"}, {"q_law": "truncated:0.61"}):
        code, found = checked(changed(table, 0, **cells), capsys)
        assert (code, counts(found)) == (1, (0, 1, 0)), cells


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_tables_of_other_formats_are_checked_too(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    run, source = make_run(tmp_path / "run", PLANS["np"]), tmp_path / f"table.{ending}"
    assert main(["export", str(run), "--format", ending, "--output", str(source)]) == 0
    code, found = checked(source, capsys)
    assert (code, found["verified"], found["abstained"]) == (0, 2, 1)


def test_without_its_proof_a_chain_is_not_verified(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = checked(changed(table, 0, proof=""), capsys)
    assert (code, counts(found)) == (3, (0, 0, 1))
    assert "no proof" in found["certificates"][0]["reason"]


@pytest.mark.parametrize("p_lower", [0.8049041946398782, 0.51, 0.99999])
def test_the_radius_of_another_program_is_decided_for_gaussian_noise(
    p_lower: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Recorded radii have a closed form, and the last digits that their program gave them."""
    exact = 0.5 * NormalDist().inv_cdf(p_lower)
    words = []
    for radius in (exact * (1 + 4e-16), exact * (1 + 3e-15), exact * (1 + 1e-9)):
        table, out = tmp_path / f"{radius!r}.csv", tmp_path / f"{radius!r}.out.csv"
        table.write_text(
            f"index,d,k,sigma,p_lower,p_upper,radius\n0,784,0,0.5,{p_lower!r},1,{radius!r}\n"
        )
        assert main(["recertify", str(table), "--output", str(out), "--quiet"]) == 0
        found = checked(out, capsys)[1]["certificates"][0]
        assert found["radius"] is None or found["radius"] < exact
        words.append(found["verdict"])
    assert words == ["verified", "refuted", "refuted"]


def test_lines_name_a_method_once_and_what_all_share_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(tmp_path / "run", PLANS["grid"])
    assert main(["check", str(folder), "--quiet"]) == 0
    *lines, shared, counted = capsys.readouterr().out.splitlines()
    assert shared.startswith("in common: alpha 0.001, n 600, seed 0 (public), model name:")
    assert counted.startswith("5 verified, 0 refuted, 0 undecided, 4 abstained")
    assert len(lines) == 9
    for line in lines:
        assert re.fullmatch(
            r"(VERIFIED|ABSTAINED): input \d, (np|tailored|rescaled)(, radius [\d.]+)?, class \d, "
            r"input [0-9a-f]{12}",
            line,
        )
    assert len({line[-12:] for line in lines}) == 3  # the inputs are told apart


def test_what_only_one_certificate_is_about_stands_beside_it() -> None:
    about: dict[str, Any] = {"class": 1, "class_name": "cat", "n": 5, "seed": 7, "index": 3}
    hashed = "sha256:" + 32 * "ab"
    lines = verdict_lines(
        [
            Verdict("input 3, np", "verified", radius=0.5, subject={**about, "method": "np"}),
            Verdict(
                "input None, np", "refuted", "why", subject={"n": 5, "seed": 8, "model": hashed}
            ),
            Verdict("line 3", "undecided", "why not"),
        ]
    )
    assert lines == [
        "VERIFIED: input 3, np, radius 0.500000, class 1 (cat), seed 7",
        "REFUTED: input None, np, seed 8, model sha256:abababababab: why",
        "UNDECIDED: line 3: why not",
        "in common: n 5",
    ]


def test_files_of_certificates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = certify(
        MNIST, Interval(0.93, 0.95), Observation(Rescaled(MNIST, 0.4), Interval(0.96, 1))
    )
    fields = found.to_dict()
    one, several = tmp_path / "certificate.json", tmp_path / "several.json"
    one.write_text(json.dumps(fields, indent=2))
    assert main(["check", str(one), "--quiet"]) == 0
    said = capsys.readouterr().out
    assert f"VERIFIED: certificate 1, radius {fields['radius']:.5f}" in said
    assert "1 verified, 0 refuted, 0 undecided, 0 abstained" in said
    assert "s of the processor" in said
    assert main(["audit", str(one), "--quiet"]) == 0
    fields["radius"] *= 1.001
    plain = certify(PLAIN, Interval(0.93, 0.95))
    several.write_text(plain.to_json() + "\n" + json.dumps(fields) + "\n")
    code, answer = checked(several, capsys)
    assert (code, counts(answer)) == (1, (1, 1, 0))
    assert set(answer) == {*VERDICT_WORDS, "processor_seconds", "wall_seconds", "certificates"}
    assert [each["verdict"] for each in answer["certificates"]] == ["verified", "refuted"]


def test_exit_codes_say_what_was_proved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    true = certify(PLAIN, Interval(0.93, 0.95)).to_dict()
    nothing = certify(PLAIN, Interval(0.3, 0.95)).to_dict()
    unknown, false = true | {"hue": 3}, true | {"radius": 9.0}
    source = tmp_path / "file.json"
    for entries, code in (
        ([true], 0),
        ([true, nothing], 0),
        ([nothing], 3),
        ([true, unknown], 3),
        ([true, unknown, false], 1),
    ):
        source.write_text("\n".join(map(json.dumps, entries)))
        assert checked(source, capsys)[0] == code, entries
    assert main(["check"]) == 2
    assert main(["check", str(tmp_path / "absent.json")]) == 2


def test_floats_prove_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "file.json"
    true = certify(PLAIN, Interval(0.93, 0.95)).to_dict()
    source.write_text(json.dumps(true) + "\n" + json.dumps(true | {"status": "abstained"}))
    assert main(["check", "--fast", str(source)]) == 3
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "line 1: agrees with our floats"
    assert said[1].startswith("line 2: DISAGREES with our floats")
    assert "verified" not in " ".join(said).lower()


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


def test_without_flint_nothing_is_proved(tmp_path: Path) -> None:
    source = tmp_path / "certificate.json"
    source.write_text(certify(PLAIN, Interval(0.9, 1.0)).to_json())
    program = "import sys; sys.modules['flint'] = None; from dsrs.cli.main import main; "
    command = [sys.executable, "-c", program + "sys.exit(main())", "check", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "nothing was proved" in done.stderr
    assert "pip install python-flint" in done.stderr
    assert "Traceback" not in done.stderr
    from_python = (
        "import sys; sys.modules['flint'] = None; import dsrs; from dsrs.laws import *; "
        "found = dsrs.check(dsrs.certify(GeneralizedGaussian(9, 1.0), dsrs.Interval(0.9, 1.0))); "
        "assert not found and 'nothing was proved' in found.reason, found"
    )
    subprocess.run([sys.executable, "-c", from_python], check=True)


@pytest.mark.parametrize(
    ("text", "said"), [("", "no certificates"), ("[1", "no line of it is JSON")]
)
def test_what_holds_no_json_is_refused(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file.json").write_text(text)
    assert main(["check", str(tmp_path / "file.json"), "--quiet"]) == 2
    assert said in capsys.readouterr().err
