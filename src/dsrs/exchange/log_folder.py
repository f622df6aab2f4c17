"""All logs of one model, from the folders of the DSRS scripts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from dsrs.errors import DataError
from dsrs.exchange.dsrs_logs import RadiusLog, SamplingLog, read_radius_log, read_sampling_log
from dsrs.exchange.log_names import MODEL_ENDING, radius_name, sampling_name

SAMPLING = "sampling"
RADIUS_KINDS = ("orig-radius", "new-radius")
_RADIUS_PREFIXES = ("orig-rad-", "new-rad-", "time-")
_OTHER_NORMS = ("L1-", "infty-")  # noise for l1 and l-infinity certificates
OTHER_NORM = "noise for another norm than l2"


@dataclass(frozen=True, slots=True)
class ModelLogs:
    """The logs of one model.

    `broken` are files that should have been read and could not be; `left_out` are no l2 logs by
    their names: those of other norms, of rules that are not known, and of seconds.
    """

    model: str
    sampling: dict[Path, SamplingLog] = field(default_factory=dict)
    radii: dict[Path, RadiusLog] = field(default_factory=dict)
    broken: list[tuple[Path, str]] = field(default_factory=list)
    left_out: list[tuple[Path, str]] = field(default_factory=list)


def model_folders(folder: Path) -> dict[str, list[Path]]:
    """The folders of each model below `folder`, which holds `sampling`, `orig-radius`, ..."""
    folders: dict[str, list[Path]] = {}
    for kind in (SAMPLING, *RADIUS_KINDS):
        for path in sorted((folder / kind).glob(f"*{MODEL_ENDING}")):
            if path.is_dir():
                folders.setdefault(path.name.removesuffix(MODEL_ENDING), []).append(path)
    return dict(sorted(folders.items()))


def read_model_logs(model: str, folders: Iterable[Path]) -> ModelLogs:
    """Every log in these folders of one model."""
    logs = ModelLogs(model)
    for folder in folders:
        for path in sorted(folder.iterdir()):
            if path.name.removesuffix(".gz").endswith(".txt") and path.is_file():
                _read(path, logs)
    return logs


def _read(path: Path, logs: ModelLogs) -> None:
    of_radii = path.name.startswith(_RADIUS_PREFIXES)
    try:
        name = radius_name(path).p if of_radii else sampling_name(path)
    except DataError as error:
        reason = _other_kind(path.name)
        if reason is None:
            logs.broken.append((path, str(error)))
        else:
            logs.left_out.append((path, reason))
        return
    if name.norm != "l2":
        logs.left_out.append((path, OTHER_NORM))
        return
    try:
        if of_radii:
            logs.radii[path] = read_radius_log(path)
        else:
            logs.sampling[path] = read_sampling_log(path)
    except DataError as error:
        logs.broken.append((path, str(error)))


def _other_kind(name: str) -> str | None:
    """What a file of this name holds, if it was never meant to be read here."""
    if name.startswith("time-"):
        return "seconds"
    if name.startswith(_RADIUS_PREFIXES):
        return "radii of another norm, or of a rule that is not known here"
    return OTHER_NORM if name.startswith(_OTHER_NORMS) else None
