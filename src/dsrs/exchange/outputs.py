"""What an output may replace: nothing unless asked, never a file of another kind, never a run."""

from __future__ import annotations

import os
from pathlib import Path

from dsrs.errors import DataError, InvalidInput
from dsrs.exchange.registry import recognised
from dsrs.files import content_of_file
from dsrs.store import STORE_NAME


def refuse_run_folder(folder: Path) -> None:
    """Refuse a folder that is a run, or lies in one."""
    for parent in (folder.resolve(), *folder.resolve().parents):
        if (parent / STORE_NAME).exists():
            raise InvalidInput(
                f"{folder} lies in the run folder {parent}, which holds only the run; "
                "write beside it"
            )


def check_output(path: Path, form: str, overwrite: bool) -> None:
    """Refuse to write a table or log of this format under `path` where that would lose something.

    An existing file is replaced with `overwrite` only, and only if it is empty or of the format.
    """
    refuse_run_folder(path.parent)
    if not os.path.lexists(path):
        return
    if path.exists() and not path.is_file():
        raise InvalidInput(f"{path} is not a file; choose another --output")
    if not overwrite:
        raise InvalidInput(f"{path} exists; give --overwrite to replace it, or another --output")
    if not path.exists():
        return  # a link to nothing
    content = content_of_file(path)
    try:
        present = recognised(path, content).name if content else form
    except DataError:
        present = None
    if present != form:
        kind = f"is {present}" if present else "is no table of this program"
        raise InvalidInput(
            f"{path} {kind}, and {form} would replace it; a file of another kind is never "
            "overwritten, so choose another --output"
        )
