"""From run folders to summaries."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dsrs.errors import InvalidInput
from dsrs.reports.privacy import without_places
from dsrs.reports.summary import RunSummary
from dsrs.reports.tabled import read_table
from dsrs.store import attacked_inputs, open_run, votes_spent


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
