"""Whole folders of DSRS logs: what was exported comes back, whatever the plan was."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrs.certifying.many_inputs import certify_run
from dsrs.classifiers import from_callable
from dsrs.cli.main import main
from dsrs.datasets import Dataset
from dsrs.errors import DataError, InvalidInput
from dsrs.exchange import ResultRow, export_run, import_folder, import_rows
from dsrs.exchange.log_names import LogHeader, RadiusName, radius_name, sampling_name
from dsrs.exchange.row import rows_of
from dsrs.laws import GeneralizedGaussian
from dsrs.laws.grid import Grid
from dsrs.methods import Plan
from dsrs.store import open_run

IMAGES = np.random.default_rng(0).random((4, 1, 4, 4), dtype=np.float32)
EVERY_LAW = (
    *("np", "truncated:heuristic", "truncated:paper-heuristic", "truncated:T=2.5"),
    *("truncated:.75", "rescaled:0.8x", "rescaled:0.55"),
)
HEADER = "x disttype general-gaussian\nx k 6\nx std {}\nx N {}\nx alpha 0.001\n"


def run_of(folder: Path, methods: tuple[str, ...], **options: Any) -> Path:
    model = from_callable(lambda b: (b.mean(axis=(1, 2, 3)) > 0.5).astype(int), (1, 4, 4), 2)
    plan = Plan(GeneralizedGaussian(16, 0.5, 3.25), methods, n=200, **{"grid": None, **options})
    data = Dataset.from_arrays(IMAGES, [0, 1, 0, 1])
    certify_run(model, data, plan, range(4), folder, workers=1)
    return folder


def known(row: ResultRow) -> tuple[object, ...]:
    """What the logs can say of a row."""
    law = (row.d, row.k, row.sigma, row.n, row.q_law, row.status, row.radius)
    return (row.index, *law, row.p_lower, row.p_upper, row.q_lower, row.q_upper)


@pytest.mark.parametrize(
    ("methods", "options"),
    [
        (EVERY_LAW, {}),
        (("np", "truncated:0.8"), {"sample_share": 0.3, "alpha_share": 0.2, "early_stop": True}),
        (("truncated:T=2.5",), {}),
        (("np", "truncated:heuristic"), {"alpha": 1e-5, "grid": Grid(2.0**-24)}),
        (("np", "truncated:heuristic"), {"fallback": True}),
    ],
)
def test_every_export_comes_back(
    tmp_path: Path, methods: tuple[str, ...], options: dict[str, Any]
) -> None:
    with open_run(run_of(tmp_path / "run", methods, **options)) as run:
        export_run(run, tmp_path / "logs", "dsrs-logs")
        rows = list(rows_of(run.results(), run.config["plan"]))
    (back,) = import_folder(tmp_path / "logs", d=16).tables.values()
    assert sorted(map(known, back), key=repr) == sorted(map(known, rows), key=repr)
    assert len({(row.index, row.method) for row in back}) == len(rows)
    alpha = {row.method: row.alpha for row in back}
    assert all(value == pytest.approx(rows[0].alpha, rel=1e-12) for value in alpha.values())


@pytest.mark.parametrize(
    ("methods", "options", "message"),
    [
        (("np", "tailored"), {}, "no place for 'tailored'"),
        (("np", "rescaled:1x"), {}, "no place for 'rescaled'"),
        (("np",), {"grid": Grid(0.01)}, "moved to a grid"),
        (("np",), {"radius": 0.2}, "stopped after different numbers"),
        (("np",), {"classes": "all"}, "`classes` = all"),
        (("np", "truncated:0.8"), {"fallback": True}, "fall-back of truncated:heuristic only"),
        (("np",), {"target": "predicted"}, "about the labels"),
    ],
)
def test_what_the_logs_cannot_say_is_not_exported(
    tmp_path: Path, methods: tuple[str, ...], options: dict[str, Any], message: str
) -> None:
    with (
        open_run(run_of(tmp_path / "run", methods, **options)) as run,
        pytest.raises(InvalidInput, match=message),
    ):
        export_run(run, tmp_path / "logs", "dsrs-logs")
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize(
    "header", [LogHeader(1234567.0, 1e20, 5, 1e-05), LogHeader(0.5, 0.1, 1, 0.5)]
)
def test_names_are_read_as_they_were_written(header: LogHeader) -> None:
    assert sampling_name(Path(f"{header.stem}.txt")) == header
    for name in (RadiusName(header, None, False), RadiusName(header, "xp", True)):
        assert radius_name(Path(f"{name.stem}.txt.gz")) == name


def test_the_command_reads_a_folder_one_model_of_it_and_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_run(run_of(tmp_path / "run", ("np", "truncated:0.8"))) as run:
        export_run(run, tmp_path / "logs", "dsrs-logs")
    (model,) = (tmp_path / "logs" / "sampling").iterdir()
    (model / "time-orig-rad-gaussian.txt").write_text("")
    assert main(["import", str(tmp_path / "logs"), "--d", "16"]) == 0
    errors = capsys.readouterr().err
    assert "left out 1 files: seconds" in errors
    assert f"  sampling/{model.name}/time-orig-rad-gaussian.txt" in errors
    whole = import_rows(tmp_path / "logs.csv")
    assert {row.method for row in whole} == {"np", "truncated"}
    assert main(["import", str(model), "--d", "16", "--output", str(tmp_path / "one.csv")]) == 0
    assert import_rows(tmp_path / "one.csv") == whole
    for kind in (tmp_path / "logs").iterdir():
        shutil.copytree(kind / model.name, kind / "other.pth")
    words = ["--d", "model=16", "--d", "other=16", "--output"]
    assert main(["import", str(tmp_path / "logs"), *words, str(tmp_path / "x.csv")]) == 2
    assert "logs of 2 models" in capsys.readouterr().err
    assert (
        main(["import", str(tmp_path / "logs"), "--d", "16", "--output", str(tmp_path / "t")]) == 0
    )
    assert import_rows(tmp_path / "t" / "other.csv") == whole


def test_logs_without_an_input_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_run(run_of(tmp_path / "run", ("np",))) as run:
        export_run(run, tmp_path / "logs", "dsrs-logs")
    (model,) = (tmp_path / "logs" / "sampling").iterdir()
    (log,) = model.iterdir()
    other = model.with_name("cohen-mnist-380-1.00.pth")
    other.mkdir()
    header = "".join(line for line in log.read_text().splitlines(True) if not line.startswith("o"))
    (other / log.name).write_text(header)
    assert main(["import", str(tmp_path / "logs"), "--d", "16"]) == 0
    assert f"  sampling/{other.name}/{log.name}" in capsys.readouterr().err


def test_a_broken_log_is_named_and_the_others_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = HEADER.format(0.5, 100) + "o 0 0.9 0.95\n"
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "general-gaussian-6-0.5-100-0.001.txt").write_bytes(
        b"\xef\xbb\xbf" + good.encode()
    )
    broken = tmp_path / "logs" / "general-gaussian-6-0.5-200-0.001.txt"
    broken.write_text(HEADER.format(0.5, 200) + "o 0 0.9\n")
    words = ["import", str(tmp_path / "logs"), "--d", "16", "--output", str(tmp_path / "t.csv")]
    assert main(words) == 1
    assert f"cannot use {broken}" in capsys.readouterr().err
    assert [row.p_lower for row in import_rows(tmp_path / "t.csv")] == [0.9]


def test_logs_that_may_belong_together_in_two_ways_are_refused(tmp_path: Path) -> None:
    for sigma, n in ((0.5, 100), (0.4, 100)):
        text = HEADER.format(sigma, n) + "o 0 0.9 0.95\n"
        (tmp_path / f"general-gaussian-6-{sigma}-{n}-0.001.txt").write_text(text)
    with pytest.raises(DataError, match="which is that of P"):
        import_folder(tmp_path, d=16)
    (tmp_path / "orig-rad-general-gaussian-6-0.5-100-0.001.txt").write_text("0 0.25\n")
    (rows,) = import_folder(tmp_path, d=16).tables.values()
    assert {row.method: row.radius for row in rows} == {"np": 0.25, "rescaled": None}


def test_the_dimension_is_that_of_the_data_set_in_the_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = HEADER.format(0.5, 100) + "o 0 0.9 0.95\n"
    for model in ("cohen-mnist-6-0.50", "salman-tinyimagenet-0.50", "macer-svhn-6-0.50"):
        folder = tmp_path / "logs" / "sampling" / f"{model}.pth"
        folder.mkdir(parents=True)
        (folder / "general-gaussian-6-0.5-100-0.001.txt").write_text(text)
    out = tmp_path / "tables"
    assert main(["import", str(tmp_path / "logs"), "--output", str(out)]) == 1
    errors = capsys.readouterr().err
    assert "no data set in 'macer-svhn-6-0.50' is known" in errors
    assert "--d WORD=D" in errors
    known = {path.stem: [row.d for row in import_rows(path)] for path in out.iterdir()}
    assert known == {"cohen-mnist-6-0.50": [784], "salman-tinyimagenet-0.50": [12_288]}
    words = ["import", str(tmp_path / "logs"), "--d", "svhn=3072", "--output", str(out)]
    assert main([*words, "--overwrite"]) == 0
    assert [row.d for row in import_rows(out / "macer-svhn-6-0.50.csv")] == [3072]
    assert main([*words, "--d", "10", "--d", "20", "--overwrite"]) == 2
    assert "two dimensions for all models" in capsys.readouterr().err
    assert main(["import", str(folder / "general-gaussian-6-0.5-100-0.001.txt")]) == 2
    assert "the logs do not say the dimension" in capsys.readouterr().err


def test_a_report_of_logs_knows_that_the_class_is_the_label(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = tmp_path / "orig-radius" / "cohen-mnist-380-0.50.pth"
    logs.mkdir(parents=True)
    (logs / "orig-rad-general-gaussian-380-0.5-100-0.001.txt").write_text("0 0.5\n1 0\n")
    table = tmp_path / "table.csv"
    assert main(["import", str(tmp_path), "--output", str(table)]) == 0
    assert [row.correct for row in import_rows(table)] == [True, False]
    page = tmp_path / "report.html"
    assert main(["report", str(table), "--output", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "certified" in page.read_text()
    assert not any("is not known" in text for text in (shown, page.read_text()))


def test_a_folder_without_logs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no logs that can be read"):
        import_folder(tmp_path)


def test_noise_of_another_norm_has_a_table_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Votes under l-infinity laws P and Q beside l2 logs, and a folder that was put too deep."""
    with open_run(run_of(tmp_path / "run", ("np",))) as run:
        export_run(run, tmp_path / "logs", "dsrs-logs")
    for folder in list((tmp_path / "logs").glob("*/*.pth")):
        folder.rename(folder.with_name("model-0.50.pth"))
    model = tmp_path / "logs" / "sampling" / "model-0.50.pth"
    (l2_log,) = model.iterdir()
    header = sampling_name(l2_log)
    for sigma in (header.sigma, 0.8 * header.sigma):
        other = replace(header, norm="linf", k=4.0, sigma=sigma)
        lines = [f"x {key} {value}" for key, value in other_keys(other).items()]
        (model / f"{other.stem}.txt").write_text("\n".join([*lines, "o 0 0.9 1.0", ""]))
    (model / "deeper.pth").mkdir()
    (model / "deeper.pth" / l2_log.name).write_bytes(l2_log.read_bytes())
    assert (
        main(["import", str(tmp_path / "logs"), "--d", "16", "--output", str(tmp_path / "t")]) == 0
    )
    errors = capsys.readouterr().err
    assert "left out 1 files: a folder inside of the folder of a model" in errors
    l2_rows, linf_rows = (
        import_rows(tmp_path / "t" / f"{model.stem}{ending}.csv") for ending in ("", "-linf")
    )
    assert {row.norm for row in l2_rows} == {None}
    (row,) = linf_rows
    assert (row.norm, row.method, row.q_law) == ("linf", "rescaled", f"rescaled:{sigma!r}")
    table = str(tmp_path / "t" / f"{model.stem}-linf.csv")
    assert main(["recertify", table, "--output", str(tmp_path / "radii.csv")]) == 0
    (certified,) = import_rows(tmp_path / "radii.csv")
    assert certified.radius


def other_keys(header: LogHeader) -> dict[str, object]:
    """The header lines of a log."""
    return {
        "disttype": header.law,
        "k": header.k_text,
        "std": header.sigma,
        "N": header.n,
        "alpha": header.alpha,
    }
