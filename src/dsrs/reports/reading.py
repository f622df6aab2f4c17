"""Run folders and tables, read as summaries that may stand beside each other."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any

from dsrs.errors import DataError, InvalidInput, StoreMismatch
from dsrs.exchange import ResultRow, import_rows
from dsrs.laws import short_law_text
from dsrs.proofs import Interval, proof_from_dict, visible_flaw
from dsrs.reports.summary import Answer, Outcome, RunSummary
from dsrs.store import attacked_inputs, open_run, votes_spent

# ---- A table of rows (`dsrs import`, `export`, `recertify`) as the summary of a run

UNNAMED = "imported"  # the method of a table that names none, such as a TSV log


def read_table(path: Path, name: str, family: str | None = "") -> RunSummary:
    """The rows of a table that has radii."""
    rows: dict[int, dict[str, ResultRow]] = {}
    for row in import_rows(path):
        rows.setdefault(row.index, {})[row.method or UNNAMED] = row
    methods = {method for by_method in rows.values() for method in by_method}
    for index, by_method in rows.items():
        missing = sorted(methods - by_method.keys())
        if missing:
            raise DataError(
                f"{path} has no row of the method {missing[0]} for input {index}; a report "
                "compares methods on the same inputs"
            )
    listed = [row for by_method in rows.values() for row in by_method.values()]
    laws = [row.smoothing_law for row in listed if row.smoothing_law]
    outcomes = [_outcome(index, by_method, path) for index, by_method in rows.items()]
    return RunSummary.from_outcomes(
        name, outcomes, laws, family=family, settings={"table": str(path)}
    )


def _outcome(index: int, rows: dict[str, ResultRow], path: Path) -> Outcome:
    first = next(iter(rows.values()))
    for row in rows.values():
        if (row.label, row.target) != (first.label, first.target) and None not in (
            row.target,
            first.target,
        ):
            raise DataError(f"{path}: the rows of input {index} are about different classes")
    targets = [row.target for row in rows.values() if row.target is not None]
    return Outcome(
        index=index,
        label=first.label,
        predicted=first.predicted,
        target=targets[0] if targets else None,
        answers={method: _answer(row, path) for method, row in rows.items()},
        seconds=first.seconds or 0.0,
        undefended=first.undefended,
    )


def _answer(row: ResultRow, path: Path) -> Answer:
    if row.radius is None:
        raise DataError(
            f"{path}: input {row.index} has no radius; certify the rows first, with "
            "`dsrs recertify`"
        )
    status = row.status or ("certified" if row.radius > 0 else "abstained")
    law = row.smoothing_law
    if row.proof is not None and law is not None:
        try:
            proof = proof_from_dict(json.loads(row.proof), law)
        except (DataError, InvalidInput, ValueError, RecursionError) as error:
            raise DataError(f"{path}: the proof of input {row.index}: {error}") from None
        flaw = visible_flaw(status, row.radius, proof, row.moved or 0.0)
        if flaw is not None:
            raise DataError(f"{path}, input {row.index}: {flaw}")
    return Answer(
        status,
        row.radius,
        _interval(row.p_lower, row.p_upper),
        _interval(row.q_lower, row.q_upper),
        None if row.q_law is None else short_law_text(row.q_law),
    )


def _interval(lower: float | None, upper: float | None) -> Interval | None:
    return None if lower is None or upper is None else Interval(lower, upper)


# ---- Settings without the places of files


def without_places(value: Any) -> Any:
    """The same settings with the name of a file or folder in place of each absolute path."""
    if isinstance(value, Mapping):
        return {key: without_places(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_places(one) for one in value]
    if not isinstance(value, str):
        return value
    for kind in (PurePosixPath, PureWindowsPath):
        path: PurePath = kind(value)
        if path.is_absolute() or value.startswith("~"):
            return path.name or value
    return value


# ---- Run folders


def read_runs(
    texts: Sequence[str], families: Sequence[str] | None = (), *, paths: bool = False
) -> list[RunSummary]:
    """Read the runs that are written `PATH` or `NAME=PATH`.

    Without a name a run is called by its folder, or by its path where two folders have the same
    name.

    Args:
        texts: the runs.
        families: `FAMILY=RUN,RUN,...` each, where a run is named as here: the runs that have an
            upper envelope over sigma together. Without any, all runs are one family; None: no run
            belongs to one.
        paths: keep absolute paths in the settings of a run; by default they are file names.
    """
    pairs = [split_name(text) for text in texts]
    places = [path.resolve() for _, path in pairs]
    for place, (_, path) in zip(places, pairs, strict=True):
        if places.count(place) > 1:
            raise InvalidInput(f"the run {path} is given twice")
    folders = [place.name for place in places]
    names = [
        name or (_relative(path) if folders.count(folder) > 1 else folder)
        for folder, (name, path) in zip(folders, pairs, strict=True)
    ]
    members = family_of_each(families, names) if families else {}
    default = "" if families is not None and not families else None
    return [
        read_run(path, name, members.get(name, default), paths=paths)
        for name, (_, path) in zip(names, pairs, strict=True)
    ]


def family_of_each(families: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """The family of each run that `FAMILY=RUN,RUN,...` names."""
    members: dict[str, str] = {}
    for text in families:
        family, equals, listed = text.partition("=")
        if not (family and equals and listed):
            raise InvalidInput(f"a family is written FAMILY=RUN,RUN, got {text!r}")
        for name in listed.split(","):
            if name not in names:
                raise InvalidInput(
                    f"the family {family!r} names the run {name!r}, but the runs are called "
                    f"{', '.join(map(repr, names))}"
                )
            if members.setdefault(name, family) != family:
                raise InvalidInput(f"the run {name!r} is in two families; name it in one")
    return members


def _relative(path: Path) -> str:
    return str(Path(*path.parts[-2:])) if path.is_absolute() else str(path)


def read_run(
    path: str | Path, name: str | None = None, family: str | None = "", *, paths: bool = False
) -> RunSummary:
    """The finished inputs of one run folder, or the rows of a table."""
    if Path(path).is_file():
        return read_table(Path(path), name or Path(path).name, family)
    with open_run(path) as run:
        data = run.config.get("data", {})
        started = [session["started"] for session in run.sessions]
        results = list(run.results())
        return RunSummary.from_results(
            name or Path(path).resolve().name,
            results,
            family=family,
            data_fingerprint=data.get("fingerprint"),
            class_names=tuple(data.get("class_names", ())),
            settings={**(run.config if paths else without_places(run.config)), "started": started},
            spent=votes_spent(results, run.sampled_plan),
            attacks=attacked_inputs(run),
        )


def as_summary(run: RunSummary | str | os.PathLike[str]) -> RunSummary:
    """The run of a folder, of a table, or of `SmoothedClassifier.certify`: of its inputs alone."""
    if isinstance(run, RunSummary):
        return run
    if not isinstance(run, str | os.PathLike):
        raise InvalidInput(
            f"expected a run, or the path of a run folder or a table, got {type(run).__name__}"
        )
    seen, indices = read_run(Path(run)), getattr(run, "indices", None)
    return seen if indices is None else seen.among(frozenset(indices))


def split_name(text: str) -> tuple[str, Path]:
    """`ours=runs/a` is the run `runs/a` called `ours`; a path that exists is just a path.

    Names and paths may have = in them: the split is at the last one with an existing path behind
    it, and without such a path at the last one. Quotes around a name are taken off.
    """
    if "=" not in text or Path(text).exists():
        return "", Path(text)
    places = [place for place, mark in enumerate(text) if mark == "="]
    behind = (place for place in reversed(places) if text[place + 1 :])
    place = next((at for at in behind if Path(text[at + 1 :]).exists()), places[-1])
    name, path = text[:place].strip(), text[place + 1 :]
    if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'":
        name = name[1:-1]
    if not name or not path:
        raise InvalidInput(f"a run is written PATH or NAME=PATH, got {text!r}")
    return name, Path(path)


# ---- Which runs may stand beside each other: those that certify the same data


def check_comparable(runs: Sequence[RunSummary], distinct: bool = True) -> None:
    """Refuse runs that do not belong together: other data, other labels, and one name twice.

    Without `distinct` names may be the same: two folders of one name in different places.
    """
    if not runs:
        raise InvalidInput("a report needs at least one run")
    first, labels = runs[0], {outcome.index: outcome.label for outcome in runs[0].outcomes}
    names = {first.name}
    for run in runs[1:]:
        if distinct and run.name in names:
            raise InvalidInput(f"two runs are called {run.name!r}; give each its own name")
        names.add(run.name)
        both = f"the runs {first.name!r} and {run.name!r}"
        known = first.data_fingerprint and run.data_fingerprint
        if known and first.data_fingerprint != run.data_fingerprint:
            raise StoreMismatch(
                f"{both} certify different data ({first.data_fingerprint} and "
                f"{run.data_fingerprint}); they cannot be compared"
            )
        if run.law and first.law and run.law.d != first.law.d:
            raise StoreMismatch(
                f"{both} certify inputs of different size (d = {first.law.d} and {run.law.d}); "
                "they cannot be compared"
            )
        for outcome in run.outcomes:
            label = labels.setdefault(outcome.index, outcome.label)
            if None not in (label, outcome.label) and label != outcome.label:
                raise StoreMismatch(
                    f"input {outcome.index} has label {label} in {first.name!r} but "
                    f"{outcome.label} in {run.name!r}, so they certify different data; they "
                    "cannot be compared"
                )
