"""Take calibration scores again from their seed, and compare them with those that a file keeps."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import numpy as np

from dsrs.certifying import Retaken, refuse_other
from dsrs.classifiers import Classifier
from dsrs.conformal.calibration import Scoring, SetPlan
from dsrs.conformal.prediction import compare_sets
from dsrs.conformal.sets import Sets
from dsrs.datasets import Dataset
from dsrs.errors import DataError, InvalidInput


def retake_scores(
    sets: Sets, classifier: Classifier, dataset: Dataset, count: int, *, device: str = "cpu"
) -> Iterator[Retaken]:
    """Take the scores of calibration inputs again, one input after another.

    Args:
        sets: the sets.
        classifier: the model that they say they asked.
        dataset: the data that they say they were calibrated on.
        count: how many inputs, chosen by fresh randomness of the operating system.
        device: where the model runs.

    Raises:
        OtherModel: what is served is not what was calibrated.
        DataError: the data is not that of the calibration.
    """
    if count < 1:
        raise InvalidInput(f"`votes` must be at least 1, got {count}")
    counted = sets.calibration
    refuse_other(compare_sets(sets, classifier, device), "the file of prediction sets")
    dataset = dataset.named_for(classifier)
    if dataset.fingerprint != counted.data_fingerprint:
        raise DataError(
            f"this is not the data of the calibration: its fingerprint is {dataset.fingerprint}, "
            f"and that of the calibration {counted.data_fingerprint}"
        )
    grid = None if sets.grid is None else sets.grid.grid
    plan = SetPlan(
        *(sets.law, sets.radius, sets.coverage, sets.score),
        calibration_draws=counted.draws,
        grid=grid,
        batch=sets.batch,
    )
    scoring = Scoring.of(classifier, dataset, plan, counted.indices[0])
    kept = np.array(counted.scores).reshape(counted.inputs, counted.draws)
    chosen = secrets.SystemRandom().sample(range(counted.inputs), min(count, counted.inputs))
    for place in sorted(chosen):
        index = counted.indices[place]
        again = scoring.of_label(index, counted.seed)
        away = float(np.abs(again - kept[place]).max())
        said = None if away == 0 else f"scores differ by up to {away:.3g} from those kept"
        if grid is not None and sets.grid is not None:
            moved = grid.distance(dataset.input(index))
            if moved > sets.grid.aside:
                said = f"it lies {moved:.3g} from the grid, beyond {sets.grid.aside:.3g}"
        yield Retaken(index, counted.draws, said)
