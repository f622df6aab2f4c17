"""Reader of the recorded accuracy on spheres of noise.

    DIR/landscape_sampling/MODEL.pth/FROM-TO-STEPS-SAMPLES.txt

has one line `o index norm accuracy` for each input and sphere. Where a model has several, the one
with most samples is taken, then the one that reaches furthest.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from dsrs.errors import DataError, NotRecorded
from dsrs.exchange.dsrs_logs import log_lines
from dsrs.laws import GeneralizedGaussian
from dsrs.paper.logs import sigma_of
from dsrs.paper.recorded import DIMENSIONS, AccuracyByNorm, dataset_of

_NAME = re.compile(r"(?P<start>[\d.]+)-(?P<stop>[\d.]+)-(?P<steps>\d+)-(?P<samples>\d+)\.txt")


def read_noise_norm_logs(folder: Path) -> list[AccuracyByNorm]:
    """Every model under `folder/landscape_sampling`."""
    curves = []
    for model_folder in sorted((folder / "landscape_sampling").glob("*.pth")):
        named = [(match, path) for path in model_folder.iterdir() if (match := _match(path))]
        if not named:
            continue
        _, path = max(
            named, key=lambda pair: (int(pair[0]["samples"]), float(pair[0]["stop"]), pair[1].name)
        )
        model = model_folder.name.removesuffix(".pth")
        rows = _rows(path)
        curves.append(
            AccuracyByNorm(
                model,
                _law_of(model),
                rows[:, 0].astype(np.int64),
                rows[:, 1].copy(),
                rows[:, 2].copy(),
            )
        )
    if not curves:
        raise NotRecorded(
            f"expected logs as {folder}/landscape_sampling/MODEL.pth/FROM-TO-STEPS-SAMPLES.txt, "
            "found none"
        )
    return curves


def _match(path: Path) -> re.Match[str] | None:
    return _NAME.fullmatch(path.name)


def _rows(path: Path) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    rows = []
    for where, words in log_lines(path):
        if words[0] == "x":
            continue
        try:
            if words[0] != "o" or len(words) != 4:
                raise ValueError
            index, norm, accuracy = (float(word) for word in words[1:])
            if not (norm >= 0 and 0 <= accuracy <= 1):
                raise ValueError
        except ValueError:
            raise DataError(
                f"{where}: expected `o index norm accuracy`, got {' '.join(words)!r}"
            ) from None
        rows.append((index, norm, accuracy))
    if not rows:
        raise DataError(f"{path}: expected lines `o index norm accuracy`, found none")
    return np.array(rows)


def _law_of(model: str) -> GeneralizedGaussian:
    """The law that a model was trained for: k if its name has one, and sigma."""
    exponents = [float(word) for word in model.split("-") if re.fullmatch(r"\d+", word)]
    return GeneralizedGaussian(
        DIMENSIONS[dataset_of(model)], sigma_of(model), exponents[-1] if exponents else 0.0
    )
