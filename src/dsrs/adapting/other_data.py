"""Data to learn from that holds nothing of what is certified."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from dsrs.adapting.learning import LEARNING_WAYS
from dsrs.datasets import Dataset, some_inputs
from dsrs.errors import InvalidInput
from dsrs.store import in_memory, rows_not_in

# Images in files, of both data sets, that are read to compare them: some minutes.
MOST_IMAGES_COMPARED = 30_000
LOG = logging.getLogger("dsrs.adapting")
Unlabelled = tuple[Dataset, Sequence[int]]  # data, and which inputs of it


def usable_data(
    unlabelled: Unlabelled | None, dataset: Dataset, indices: Sequence[int], ways: Sequence[str]
) -> tuple[Unlabelled | None, bool]:
    """What may be estimated from, and whether models may also learn from it.

    Args:
        unlabelled: the data that was given to estimate and to learn from.
        dataset: the data to certify.
        indices: its inputs that choose.
        ways: those that were asked for by name.
    """
    if unlabelled is None or unlabelled[0].fingerprint != dataset.fingerprint:
        left = None if unlabelled is None else without_shared(unlabelled, dataset, ways)
        return left, unlabelled is None or left is not None
    # What is fitted to the inputs that choose looks better on them.
    fitted = bool(set(unlabelled[1]) & set(indices))
    return None if fitted else unlabelled, False  # inputs that may be reported teach nothing


def without_shared(
    unlabelled: Unlabelled, dataset: Dataset, ways: Sequence[str]
) -> Unlabelled | None:
    """The inputs to learn from that are not also in `dataset`, by their content; None: no input.

    Raises InvalidInput where nothing is left and one of `ways`, those asked for by name, needs it.
    """
    data, rows = unlabelled
    read = sum(len(each) for each in (data, dataset) if not in_memory(each))
    if read > MOST_IMAGES_COMPARED:
        LOG.warning(
            "%d images in files are too many to compare: none of the inputs to learn from "
            "(--train-data) should be among those that are certified",
            read,
        )
        return unlabelled
    left = rows_not_in(data, rows, dataset)
    shared = len(rows) - len(left)
    if not shared:
        return unlabelled
    said = (
        f"{shared} of {len(rows)} inputs to learn from (--train-data) are also in the data to "
        "certify (--data)"
    )
    if not left:
        if set(ways) & {"statistics", *LEARNING_WAYS}:
            raise InvalidInput(f"{said}: give others to {', '.join(ways)}")
        LOG.warning("%s: nothing is learned from them", said)
        return None
    LOG.warning("%s: learned from the other %d", said, len(left))
    if len(rows) == len(data):  # a whole data set stays one
        return some_inputs(data, left), range(len(left))
    return data, left
