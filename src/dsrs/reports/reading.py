"""From run folders to summaries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dsrs.errors import InvalidInput
from dsrs.reports.summary import RunSummary
from dsrs.reports.tabled import read_table
from dsrs.store.attacks import attacked_inputs
from dsrs.store.reader import open_run
from dsrs.store.spending import votes_spent


def read_runs(texts: Sequence[str]) -> list[RunSummary]:
    """Read the runs that are written `PATH` or `FAMILY=PATH`.

    A run is called by its folder, or by its whole path where two folders have the same name.
    """
    pairs = [split_family(text) for text in texts]
    places = [path.resolve() for _, path in pairs]
    for place, (_, path) in zip(places, pairs, strict=True):
        if places.count(place) > 1:
            raise InvalidInput(f"the run {path} is given twice")
    folders = [place.name for place in places]
    return [
        read_run(path, str(path) if folders.count(folder) > 1 else folder, family)
        for folder, (family, path) in zip(folders, pairs, strict=True)
    ]


def read_run(path: str | Path, name: str | None = None, family: str = "") -> RunSummary:
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
            class_names=data.get("class_names", ()),
            settings={**run.config, "started": started},
            spent=votes_spent(results, run.sampled_plan),
            attacks=attacked_inputs(run),
        )


def split_family(text: str) -> tuple[str, Path]:
    """`gaussian=runs/a` is run `runs/a` of family `gaussian`; a path that exists is just a path."""
    family, equals, path = text.partition("=")
    if not equals or Path(text).exists():
        return "", Path(text)
    if not family or not path:
        raise InvalidInput(f"a run is written PATH or FAMILY=PATH, got {text!r}")
    return family, Path(path)
