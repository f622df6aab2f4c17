"""From a run to a file that other programs read. Each file appears whole, or not at all."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dsrs.errors import InvalidInput
from dsrs.files.whole import write_whole
from dsrs.laws import Rescaled, parse_additional_law
from dsrs.runs.formats.dsrs_logs import (
    HEURISTIC_RULE,
    LoggedRadius,
    LogHeader,
    SamplingLog,
    radius_log_text,
    sampling_log_text,
)
from dsrs.runs.formats.outputs import check_output
from dsrs.runs.formats.row import ResultRow, rows_of
from dsrs.runs.formats.table import csv_text, jsonl_text, parquet_bytes
from dsrs.runs.formats.tsv import tsv_text
from dsrs.runs.reader import Run
from dsrs.runs.result import RunResult
from dsrs.strategies import NEYMAN_PEARSON, Plan

# Name -> the usual ending of such a file; the logs of the DSRS scripts are a folder.
FORMATS = {
    "tsv": ".tsv",
    "csv": ".csv",
    "jsonl": ".jsonl",
    "parquet": ".parquet",
    "dsrs-logs": "",
}


def export_run(
    run: Run, output: Path, form: str, method: str | None = None, *, overwrite: bool = False
) -> list[Path]:
    """Write the results of a run; return the files written.

    A TSV log holds one method, which must be named when the run has several. `overwrite` lets
    files of the same kind be replaced.
    """
    methods = tuple(run.plan.strategies())
    if method is not None and method not in methods:
        raise InvalidInput(f"`method` must be one of {', '.join(methods)}, got {method!r}")
    if form == "dsrs-logs":
        texts = dsrs_log_texts(run, (method,) if method else methods)
        for name in texts:
            check_output(output / name, form, overwrite)
        for name, text in texts.items():
            write_whole(output / name, text.encode())
        return [output / name for name in texts]
    check_output(output, form, overwrite)
    if form == "tsv" and method is None:
        if len(methods) > 1:
            raise InvalidInput(
                f"a TSV log holds one method; choose it with --method {' or '.join(methods)}"
            )
        method = methods[0]
    write_rows(rows_of(run.results(), run.config["plan"], method), output, form)
    return [output]


def format_of(path: Path) -> str | None:
    """The format of a table with this name, or None; .gz behind it means compressed."""
    name = path.name.removesuffix(".gz")
    return next((form for form, end in FORMATS.items() if end and name.endswith(end)), None)


def write_rows(rows: Iterable[ResultRow], output: Path, form: str) -> None:
    """Write rows as one file, compressed if its name ends in .gz."""
    if form == "parquet":
        content = parquet_bytes(rows)
    elif form in ("tsv", "csv", "jsonl"):
        writers = {"tsv": tsv_text, "csv": csv_text, "jsonl": jsonl_text}
        content = writers[form](rows).encode()
    else:
        raise InvalidInput(f"`format` must be one of {', '.join(FORMATS)}, got {form!r}")
    # Without a time inside, the same rows give the same bytes.
    write_whole(output, gzip.compress(content, mtime=0) if output.suffix == ".gz" else content)


def dsrs_log_texts(run: Run, methods: Iterable[str]) -> dict[str, str]:
    """File name -> text of every log of the original DSRS layout that these methods fill."""
    plan, results = run.plan, list(run.results())
    if plan.fallback or plan != run.sampled_plan:
        raise InvalidInput(
            "the DSRS logs have no place for a fall-back or for a run that was certified again; "
            "use csv or jsonl"
        )
    if plan.law.eta != 2:
        raise InvalidInput(
            f"the DSRS logs have no place for `eta`, which is {plan.law.eta:g}; use csv or jsonl"
        )
    model = _model_name(run.config["model"])
    texts: dict[str, str] = {}
    for method in methods:
        if method == NEYMAN_PEARSON:
            header = _header(plan, plan.n, plan.alpha)
            texts[f"sampling/{model}.pth/{header.stem}.txt"] = _p_log(header, results, method)
            radii = {r.index: LoggedRadius(r.certificates[method].radius) for r in results}
            texts[f"orig-radius/{model}.pth/orig-rad-{header.stem}.txt"] = radius_log_text(radii)
        else:
            texts |= _double_sampling_texts(plan, results, method, model)
    return texts


def _double_sampling_texts(
    plan: Plan, results: list[RunResult], method: str, model: str
) -> dict[str, str]:
    text = next(text for text in plan.methods if plan.name_of(text) == method)
    first = _header(plan, plan.n_first, plan.alpha * plan.alpha_share)
    budget = (plan.n_second, plan.alpha * (1 - plan.alpha_share))
    kind, _, value = text.partition(":")
    texts = {f"sampling/{model}.pth/{first.stem}.txt": _p_log(first, results, method)}
    seen = {
        r.index: r.certificates[method].additional[0]
        for r in results
        if r.certificates[method].additional
    }
    if kind == "truncated":
        rule = HEURISTIC_RULE if value == "heuristic" else value
        second = _header(plan, *budget, rule=rule)
        name = f"{first.law}-th-{first.k_text}-{first.sigma!r}-{rule}"
    else:
        law = parse_additional_law(text, plan.law)
        if not isinstance(law, Rescaled):
            raise InvalidInput(
                f"the DSRS logs have no place for {method!r}, only for truncated and rescaled "
                "laws; use csv or jsonl"
            )
        beta = law.beta
        second = LogHeader(plan.law.k, beta, *budget)
        name = f"{first.law}-{first.k_text}-{first.sigma!r}-{beta!r}"
    intervals = {index: found.interval for index, found in seen.items()}
    texts[f"sampling/{model}.pth/{second.stem}.txt"] = sampling_log_text(
        SamplingLog(second, intervals)
    )
    radii = {
        r.index: LoggedRadius(
            r.certificates[method].radius, (*r.certificates[method].multipliers, 0.0, 0.0)[:2]
        )
        for r in results
    }
    texts[f"new-radius/{model}.pth/new-rad-{name}-{first.n}-{first.alpha!r}.txt"] = radius_log_text(
        radii
    )
    return texts


def _header(plan: Plan, n: int, alpha: float, rule: str | None = None) -> LogHeader:
    return LogHeader(plan.law.k, plan.law.sigma, n, alpha, rule)


def _p_log(header: LogHeader, results: list[RunResult], method: str) -> str:
    return sampling_log_text(
        SamplingLog(header, {r.index: r.certificates[method].p for r in results})
    )


def _model_name(model: Mapping[str, Any]) -> str:
    """The model's file name without its ending and a piece of its fingerprint, as a safe path.

    Two models of one file name have logs of their own.
    """
    title = model["description"].partition(";")[0]
    # "ONNX net.onnx (cpu, onnxruntime)": the kind before the name and the engine behind it go.
    named = re.fullmatch(
        r"(?:ONNX model|ONNX|TorchScript|exported program)?(.*?)(?:\([^()]*\))?", title.strip()
    )
    stem = Path(named[1].strip() if named else title).stem
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", stem).strip("._") or "model"
    return f"{safe}-{hashlib.sha256(model['fingerprint'].encode()).hexdigest()[:8]}"
