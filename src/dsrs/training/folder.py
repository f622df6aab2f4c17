"""The folder of a trained model: what its files are called, and how its card is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dsrs.classifiers import MODEL_CARD, MODEL_WEIGHTS
from dsrs.errors import DataError

CHECKPOINT_NAME = "checkpoint.pt"
NEEDED_CARD_FIELDS = ("architecture", "input_shape", "num_classes", "law")


def read_card(folder: Path) -> dict[str, Any]:
    """The card of a folder that `dsrs train` wrote."""
    wanted = f"expected {MODEL_CARD} and {MODEL_WEIGHTS} of `dsrs train` in {str(folder)!r}"
    try:
        card: dict[str, Any] = json.loads((folder / MODEL_CARD).read_text(encoding="utf-8"))
        missing = [name for name in NEEDED_CARD_FIELDS if name not in card]
    except (OSError, ValueError, RecursionError, TypeError) as error:
        raise DataError(f"{wanted}: {error}") from None
    if missing:
        raise DataError(f"{wanted}: the card lacks {', '.join(missing)}")
    return card
