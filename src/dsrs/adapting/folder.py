"""The folder of an adapted model: what lies in it, and whether `adapt` may write there."""

from __future__ import annotations

import os
from pathlib import Path

from dsrs.adapting.judging import file_name
from dsrs.classifiers import MODEL_NAME
from dsrs.errors import StoreError, StoreMismatch
from dsrs.store import STORE_NAME

AS_IT_IS = "as it is"
ADAPTED_CARD_NAME, LAW_NAME, LOOKS = "adapted.json", "tuned.json", "looks"
LAWS_FOLDER, PICTURES = "laws", "pictures"
DENOISER_FOLDER, FINE_TUNED_FOLDER = "denoiser", "fine-tuned"
# All that is written beside the looks and the card; `dsrs.reports` makes the page.
WRITTEN_BESIDE_LOOKS = (
    *(MODEL_NAME, LAW_NAME, LAWS_FOLDER, PICTURES),
    *(DENOISER_FOLDER, FINE_TUNED_FOLDER, "candidates.html"),
)


def check_output_folder(folder: Path) -> None:
    """Raise StoreError where `adapt` would replace files that it did not write.

    What is there may be an unfinished run. That begins with the look at the model as it is, and
    writes model.onnx behind the laws: without these a folder, or its model, is of another origin.
    """
    for place in (folder, *folder.parents):
        if os.path.lexists(place) and not place.is_dir():
            raise StoreError(f"{place} is no folder; choose a new folder for the adapted model")
    for place in (folder.resolve(), *folder.resolve().parents):
        if (place / STORE_NAME).exists():
            raise StoreMismatch(f"{folder} lies in the run folder {place}; write beside it")
    if (folder / ADAPTED_CARD_NAME).exists():
        raise StoreMismatch(f"{folder} holds an adapted model already; choose another folder")
    there = [name for name in WRITTEN_BESIDE_LOOKS if os.path.lexists(folder / name)]
    if (folder / LOOKS / file_name(AS_IT_IS)).is_dir() and (
        MODEL_NAME not in there or LAW_NAME in there
    ):
        return
    if there:
        raise StoreMismatch(
            f"{folder} holds {there[0]} that is not of an unfinished run of `dsrs adapt`, which "
            "would replace it; choose another folder"
        )
