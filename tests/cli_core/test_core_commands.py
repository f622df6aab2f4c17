"""`dsrs radius`, `check` and `recertify` as a person and a program use them."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import math
from pathlib import Path

import pytest

from dsrs.cli import table
from dsrs.cli.main import main
from dsrs.measures import floor_text

LAW = ["--d", "3072", "--k", "1530", "--sigma", "0.5"]
SECOND = ["--q", "truncated:0.8", "--q-interval", "0.995", "1.0"]
HEADER = "name,d,k,sigma,p_lower,p_upper,q_shape,q_value,q_lower,q_upper"
GOOD = "a,3072,1530,0.5,0.97,0.98,truncated,0.8,0.995,1.0"


def test_radius_prints_both_certificates_the_gain_and_the_proof(capsys) -> None:  # type: ignore[no-untyped-def]
    assert main(["radius", *LAW, "--p", "0.97", "0.98", *SECOND]) == 0
    out = capsys.readouterr().out
    for part in ("Neyman-Pearson", "double sampling", "gain of double sampling: 21.", "lambda_q"):
        assert part in out


def test_json_of_radius_is_a_certificate_that_check_accepts(capsys, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    main(["radius", *LAW, "--p", "0.97", "0.98", *SECOND, "--json"])
    text = capsys.readouterr().out
    found = json.loads(text)
    assert found["radius"] > found["np_radius"] > 0.88
    (tmp_path / "good.json").write_text(text)
    assert main(["check", str(tmp_path / "good.json")]) == 0
    found["proof"]["p"] = [0.95, 0.98]
    (tmp_path / "bad.json").write_text(json.dumps(found))
    assert main(["check", str(tmp_path / "bad.json")]) == 1
    assert "NOT PROVED" in capsys.readouterr().out


def test_radius_reads_every_form_of_a_law_and_every_family(capsys) -> None:  # type: ignore[no-untyped-def]
    def found(*words: str) -> dict[str, object]:
        assert main(["radius", *LAW, "--p", "0.97", "0.98", *words, "--json"]) == 0
        return dict(json.loads(capsys.readouterr().out))

    q = ["--q-interval", "0.995", "1.0"]
    assert found("--q", "rescaled:0.8x", *q) == found("--q", "rescaled:0.4", *q)
    assert found("--eta", "2") == found()
    # A sharper edge of the noise: another law, another radius.
    sharp = found("--eta", "4", "--q", "weighted:3:0,9:-4,outer=-9", *q)
    assert sharp["law"]["eta"] == 4  # type: ignore[index]
    assert sharp["proof"]["additional"][0]["law"]["knots"] == [3, 9]  # type: ignore[index]
    assert 0 < sharp["np_radius"] != found()["np_radius"]  # type: ignore[operator]


def test_votes_spend_alpha_between_the_laws(capsys) -> None:  # type: ignore[no-untyped-def]
    votes = ["--p-votes", "48750/50000", "--alpha", "0.001", "--json"]
    main(["radius", *LAW, *votes])
    alone = json.loads(capsys.readouterr().out)
    main(["radius", *LAW, *votes, "--q", "rescaled:0.4", "--q-votes", "49800/50000"])
    both = json.loads(capsys.readouterr().out)
    # One-sided with all of alpha against two-sided with half of it.
    alone_p, both_p = alone["proof"]["p"], both["proof"]["p"]
    assert alone_p[0] > both_p[0]
    assert alone_p[1] == 1.0 > both_p[1] > 0.975
    assert both["radius"] > both["np_radius"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--p", "0.98", "0.97"], "--p: `lower` must not exceed `upper`"),
        (["--p", "0.9", "nan"], "`upper` must be a probability"),
        (["--p-votes", "5/4", "--alpha", "0.1"], "successes"),
        (["--p-votes", "many", "--alpha", "0.1"], "RIGHT/ALL"),
        (["--p-votes", "4/5"], "--p-votes needs --alpha, the failure probability, such as 0.001"),
        (["--p", "0.9", "1", "--alpha", "0.1"], "--alpha is for --p-votes and --q-votes"),
        (["--p", "0.9", "1", "--q", "truncated:0.8"], "each --q needs"),
        (["--p", "0.9", "1", "--q", "cauchy:1", "--q-interval", "0.9", "1"], "KIND:VALUE"),
        (["--p", "0.5", "0.6", *SECOND], "no classifier"),
    ],
)
def test_bad_words_get_a_clear_message_and_exit_code_2(words, message, capsys) -> None:  # type: ignore[no-untyped-def]
    assert main(["radius", *LAW, *words]) == 2
    assert message in capsys.readouterr().err


def recertify(tmp_path: Path, *lines: str, name: str = "in.csv", out: str = "out.csv") -> int:
    text = "\n".join([HEADER, *lines]) + "\n"
    data = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    (tmp_path / name).write_bytes(data)
    return main(["recertify", str(tmp_path / name), "--output", str(tmp_path / out), "--quiet"])


def rows(path: Path) -> list[dict[str, str]]:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    return list(csv.DictReader(io.StringIO(text)))


def test_a_gain_is_claimed_only_where_there_is_something_to_compare_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row that knows nothing of P_A, as of a tailored law, has no Neyman-Pearson radius."""
    known, unknown = "b,784,0,0.5,0.9,1.0,,,,", "c,784,0,0.5,0,1,rescaled,0.5,0.999,1"
    assert recertify(tmp_path, known, unknown) == 0
    found = {row["name"]: row for row in rows(tmp_path / "out.csv")}
    assert found["c"]["np_radius"] == ""
    assert float(found["c"]["certified_radius"]) > 1
    said = capsys.readouterr().out
    assert [line.split()[-2:] for line in said.splitlines()[2:4]] == [
        ["0.640775", "-"],
        ["0.640775", "0"],
    ]
    assert "1 rows know nothing of P_A" in said
    words = ["recertify", str(tmp_path / "in.csv"), "--output", str(tmp_path / "o.csv"), "--json"]
    assert main(words) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["rows"], summary["compared"], summary["improved"]) == (2, 1, 0)
    assert summary["mean_compared_radius"] == summary["mean_np_radius"]
    assert summary["mean_certified_radius"] > summary["mean_np_radius"]


def test_recertify_keeps_columns_and_appends_results(tmp_path: Path) -> None:
    assert (
        recertify(tmp_path, GOOD, "b,784,0,0.5,0.9,1.0,,,,", name="in.csv.gz", out="out.csv.gz")
        == 0
    )
    first, second = rows(tmp_path / "out.csv.gz")
    assert first["name"] == "a"
    assert first["status"] == "certified"
    assert float(first["certified_radius"]) > float(first["np_radius"]) > 0.88
    assert float(second["certified_radius"]) == pytest.approx(0.5 * 1.2815515655446004, abs=1e-9)
    assert second["lambda_q"] == ""


def test_recertify_reports_bad_rows_by_line_and_goes_on(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    lines = [GOOD, GOOD.replace("0.97,", "0.99,"), "short,3072", GOOD + ",extra", GOOD]
    assert recertify(tmp_path, *lines) == 1
    err = capsys.readouterr().err
    assert "line 3: error: `p_lower` must not exceed `p_upper`" in err
    assert "line 4: error: expected 10 cells" in err
    assert "line 5: error: expected 10 cells" in err
    found = rows(tmp_path / "out.csv")
    assert [row["status"][:5] for row in found] == ["certi", "error", "error", "error", "certi"]


def test_one_row_that_cannot_be_computed_does_not_stop_the_others(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    start, end = GOOD.split(",", 1)[0], "0.97,0.98,truncated,0.8,0.995,1.0"
    bad = [
        f"{start},inf,0,0.5,{end}",
        f"{start},784,391.9999999999999,0.5,{end}",
        f"{start},784,380,0.5,0.97,0.98,rescaled,1e200,0.9,1.0",
        f"{start},784,380,0.5,0.97,0.98,rescaled,1e-200,0.9,1.0",
        '"' + "9" * 140_000 + '"' + GOOD.removeprefix(start),
    ]
    assert recertify(tmp_path, GOOD, *bad, GOOD) == 1
    err = capsys.readouterr().err
    assert [f"line {line}: error" in err for line in range(2, 9)] == [False, *[True] * 5, False]
    found = rows(tmp_path / "out.csv")
    assert found[0]["certified_radius"] == found[-1]["certified_radius"] != ""


def test_bytes_that_are_not_text_are_reported_and_kept(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    start = GOOD.split(",", 1)[0].encode()
    odd = b"caf\xe9" + GOOD.encode().removeprefix(start)
    source.write_bytes(b"\n".join([HEADER.encode(), odd, GOOD.encode()]) + b"\n")
    assert main(["recertify", str(source), "--output", str(target), "--quiet"]) == 1
    assert "line 2: error: some bytes are not UTF-8" in capsys.readouterr().err
    assert b"caf\xe9," in target.read_bytes()
    assert b",certified," in target.read_bytes().splitlines()[2]


def test_a_cut_gz_is_certified_up_to_the_cut(tmp_path: Path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("DSRS_KERNELS", "interpreted")
    source, target = tmp_path / "in.csv.gz", tmp_path / "out.csv"
    abstained = ",".join(["1", "784", "0", "0.5", "0.1", "0.2", "", "", "", ""])
    lines = [f"{i}{abstained[1:]}" for i in range(3000)]
    source.write_bytes(gzip.compress("\n".join([HEADER, *lines]).encode())[:-400])
    assert main(["recertify", str(source), "--output", str(target), "--quiet"]) == 1
    assert "cut or damaged" in capsys.readouterr().err
    found = rows(target)
    assert len(found) > 100
    assert {row["status"] for row in found[:-1]} == {"abstained"}


def test_two_columns_of_one_name_are_refused(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text(f"{HEADER},sigma\n{GOOD},0.25\n")
    assert main(["recertify", str(source), "--output", str(target)]) == 2
    assert "'sigma' more than once" in capsys.readouterr().err
    assert not target.exists()


def test_a_full_disk_leaves_no_half_table(tmp_path: Path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert recertify(tmp_path, GOOD) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv"]


def test_recertify_refuses_what_it_cannot_do(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    table_file = tmp_path / "in.csv"
    table_file.write_text("a,b\n1,2\n")
    good = tmp_path / "good.csv"
    good.write_text(f"{HEADER}\n{GOOD}\n")
    target = ["--output", str(tmp_path / "out.csv")]
    for words, message in [
        ([str(table_file), *target], "lacks the column"),
        ([str(tmp_path / "none.csv"), *target], "cannot be read"),
        ([str(table_file), "--output", str(table_file)], "must not be the table itself"),
        ([str(table_file)], "--output is needed"),
        ([str(table_file), *target, "--alpha", "0.1"], "need a run folder"),
        ([str(good), *target, "--workers", "0"], "--workers must be from 1 to 1024, got 0"),
    ]:
        assert main(["recertify", *words]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


def test_interrupt_keeps_finished_rows(tmp_path: Path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    from dsrs.proofs import certify_rows

    honest = certify_rows

    def interrupted(source, workers):  # type: ignore[no-untyped-def]
        for n, outcome in enumerate(honest(source, workers)):
            if n == 2:
                raise KeyboardInterrupt
            yield outcome

    monkeypatch.setattr("dsrs.proofs.certify_rows", interrupted)
    assert recertify(tmp_path, GOOD, GOOD, GOOD, GOOD) == 130
    assert len(rows(tmp_path / "out.csv")) == 2
    assert "2 rows" in capsys.readouterr().out


def test_printed_digits_round_down() -> None:
    assert floor_text(0.99999, 2) == "0.99"
    assert floor_text(-0.001, 2) == "-0.01"
    assert floor_text(math.inf, 3) == "inf"
    assert table([["a", "1.0"], ["bb", "10.0"]], ["x", "y"]).splitlines()[2] == "a    1.0"
