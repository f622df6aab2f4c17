"""The classes of images in a text file beside them, as ImageNet's validation images have them.

A folder for each class says which images belong together, but not which of a model's classes that
is unless every class has a folder.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from dsrs.datasets.arrays import checked_labels
from dsrs.errors import DataError

CLASS = re.compile(r"[0-9]{1,99}")  # more digits than any class has
LIST_SEPARATORS = (",", None)  # a comma, or white space


def listed_images(folder: Path, listing: Path) -> tuple[tuple[Path, ...], NDArray[np.int64]]:
    """The images of `folder` that `listing` names, in its order, and their classes.

    A line is `path/in/the/folder.jpg 243`, or with a comma between; empty lines are skipped.
    """
    files: dict[Path, str] = {}
    for number, line in enumerate(_text(listing).splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{listing}, line {number}"
        name, label = _parts(line, where)
        path = folder / name
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise DataError(f"{where}: expected a path in the folder {folder}, got {name!r}")
        if not path.is_file():
            raise DataError(f"{where}: there is no image {name!r} in {folder}")
        if path in files:
            raise DataError(f"{where}: {name!r} stands there twice")
        files[path] = label
    if not files:
        raise DataError(f"{listing}: expected lines such as `cat.jpg 281`, got none")
    labels = [int(label) for label in files.values()]
    return tuple(files), checked_labels(labels, len(files), str(listing))


def _text(listing: Path) -> str:
    try:
        return listing.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{listing}: cannot be read as a list of images: {error}") from error


def _parts(line: str, where: str) -> tuple[str, str]:
    """Path and class; a path may hold spaces and commas, a class is the last word."""
    for separator in LIST_SEPARATORS:
        name, label = (part.strip() for part in ["", *line.rsplit(separator, 1)][-2:])
        if name and CLASS.fullmatch(label):
            return name, label
    raise DataError(f"{where}: expected a path and a class number, as `cat.jpg 281`, got {line!r}")
