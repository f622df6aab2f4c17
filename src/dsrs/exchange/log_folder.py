"""All logs of one model, from the folders of the DSRS scripts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from dsrs.errors import DataError
from dsrs.exchange.dsrs_logs import RadiusLog, SamplingLog, read_radius_log, read_sampling_log
from dsrs.exchange.log_names import MODEL_ENDING, radius_name
from dsrs.laws.norms import Norm

SAMPLING = "sampling"
RADIUS_KINDS = ("orig-radius", "new-radius")
_RADIUS_PREFIXES = ("orig-rad-", "new-rad-", "time-")
INNER_FOLDER = "a folder inside of the folder of a model"


@dataclass(frozen=True, slots=True)
class ModelLogs:
    """The logs of one model.

    Args:
        model: the name of the model.
        sampling: logs of votes; `of_norms` gives those of one norm.
        radii: logs of radii, which are in the l2 norm.
        broken: files that should have been read and could not be, with the reason.
        left_out: files that are not read by their names or places, with the reason: radii of other
            norms or of rules that are not known, seconds, folders inside of a model's folder.
        norm: the norm of the noise, after `of_norms`.
    """

    model: str
    sampling: list[SamplingLog] = field(default_factory=list)
    radii: list[RadiusLog] = field(default_factory=list)
    broken: list[tuple[Path, str]] = field(default_factory=list)
    left_out: list[tuple[Path, str]] = field(default_factory=list)
    norm: Norm = "l2"

    def of_norms(self) -> dict[Norm, ModelLogs]:
        """Return the logs of each norm that there are; l2 comes first, with all that is no vote."""
        parts: dict[Norm, ModelLogs] = {"l2": replace(self, sampling=[])}
        for log in self.sampling:
            norm = log.name.norm
            parts.setdefault(norm, ModelLogs(self.model, norm=norm)).sampling.append(log)
        return parts

    @property
    def table(self) -> str:
        """What the table of these logs is called: noise for another norm has one of its own."""
        return self.model if self.norm == "l2" else f"{self.model}-{self.norm}"


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
            if path.is_dir():
                logs.left_out.extend((file, INNER_FOLDER) for file in sorted(path.rglob("*.txt")))
            elif path.name.removesuffix(".gz").endswith(".txt"):
                _read(path, logs)
    return logs


def _read(path: Path, logs: ModelLogs) -> None:
    reason = _not_meant(path)
    if reason is not None:
        logs.left_out.append((path, reason))
        return
    try:
        if path.name.startswith(_RADIUS_PREFIXES):
            logs.radii.append(read_radius_log(path))
        else:
            logs.sampling.append(read_sampling_log(path))
    except DataError as error:
        logs.broken.append((path, str(error)))


def _not_meant(path: Path) -> str | None:
    """Why a file is not read, if its name says that it was never meant to be."""
    if path.name.startswith("time-"):
        return "seconds"
    if path.name.startswith(_RADIUS_PREFIXES):
        try:
            radius_name(path)
        except DataError:
            return "radii of another norm, or of a rule that is not known here"
    return None
