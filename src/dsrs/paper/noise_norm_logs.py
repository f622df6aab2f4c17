"""The recorded accuracy on spheres of noise: a curve an input, for each model of the logs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from dsrs.errors import DataError, NotRecorded
from dsrs.exchange.landscape_logs import (
    LANDSCAPES,
    fullest_log,
    is_landscape_name,
    read_landscape_log,
)
from dsrs.laws import GeneralizedGaussian
from dsrs.paper.logs import sigma_of
from dsrs.paper.recorded import RECORDED_DIMENSIONS, AccuracyByNorm, dataset_of

EMPTY = "the log has no line yet"


@dataclass(frozen=True, slots=True)
class NoiseNormLogs:
    """The curves of every model, and the files that gave none, each with the reason.

    The reason is `EMPTY` where there was nothing to read.
    """

    curves: list[AccuracyByNorm] = field(default_factory=list)
    unused: list[tuple[Path, str]] = field(default_factory=list)


def read_noise_norm_logs(folder: Path) -> NoiseNormLogs:
    """Every model under `folder/landscape_sampling`, from its log with the most inputs x votes."""
    found = NoiseNormLogs()
    for model_folder in sorted((folder / LANDSCAPES).glob("*.pth")):
        model = model_folder.name.removesuffix(".pth")
        logs = []
        for path in sorted(filter(is_landscape_name, model_folder.iterdir())):
            try:
                logs.append((path, read_landscape_log(path)))
            except DataError as error:
                found.unused.append((path, str(error)))
        found.unused.extend((path, EMPTY) for path, log in logs if not log.inputs)
        best = fullest_log(logs)
        if best is None:
            continue
        try:
            law = _law_of(model)
        except DataError as error:
            found.unused.append((model_folder, str(error)))
            continue
        found.curves.append(AccuracyByNorm(model, law, best.index, best.norm, best.accuracy))
    if not found.curves:
        place = f"{folder}/{LANDSCAPES}/MODEL.pth/FROM-TO-STEPS-SAMPLES.txt"
        damaged = [why for _, why in found.unused if why != EMPTY]
        if damaged:
            raise DataError(f"no log as {place} can be read: {damaged[0]}")
        raise NotRecorded(f"expected logs as {place}, found none")
    return found


def _law_of(model: str) -> GeneralizedGaussian:
    """The law that a model was trained for: k if its name has one, and sigma."""
    exponents = [float(word) for word in model.split("-") if re.fullmatch(r"\d+", word)]
    return GeneralizedGaussian(
        RECORDED_DIMENSIONS[dataset_of(model)], sigma_of(model), exponents[-1] if exponents else 0.0
    )
