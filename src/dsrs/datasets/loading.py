"""One door for data given by path: which format it is, is told by the name and the content."""

from __future__ import annotations

import math
from pathlib import Path

from dsrs.datasets.arrays import UNIT_BOUNDS
from dsrs.datasets.cifar import is_cifar_folder, load_cifar_file, load_cifar_folder
from dsrs.datasets.cifar_sheets import has_sheets, load_cifar_sheets
from dsrs.datasets.dataset import Dataset
from dsrs.datasets.idx_file import is_idx_folder, load_idx, load_idx_folder
from dsrs.datasets.image_files import SUFFIXES, Frame
from dsrs.datasets.image_folder import load_image, load_image_folder
from dsrs.datasets.numpy_file import load_npy, load_npz
from dsrs.datasets.tiny_imagenet import is_tiny_imagenet, load_tiny_imagenet
from dsrs.errors import DataError, InvalidInput

SPLITS = ("test", "train")


def load_dataset(
    path: str | Path,
    split: str = "test",
    *,
    labels: str | Path | None = None,
    bounds: tuple[float, float] = UNIT_BOUNDS,
    size: int | None = None,
    crop: int | None = None,
) -> Dataset:
    """The dataset at `path`: .npz, .npy, IDX, CIFAR-10, TinyImageNet, or a folder of images.

    Args:
        path: The file or folder.
        split: test or train, where the data has both.
        labels: A second file, for .npy, IDX and a folder of images.
        bounds: The units of float arrays.
        size: Scale the shorter side of images to this and keep the middle square.
        crop: Keep the middle square of this many pixels, after `size` if both are given.
    """
    if split not in SPLITS:
        raise InvalidInput(f"`split` must be one of {', '.join(SPLITS)}, got {split!r}")
    source, ids = Path(path), None if labels is None else Path(labels)
    for given in (source, *(() if ids is None else (ids,))):
        if not given.exists():
            raise DataError(f"there is no file or folder {str(given)!r}")
    if not (all(map(math.isfinite, bounds)) and bounds[0] < bounds[1]):
        raise InvalidInput(f"`bounds` must be finite with lower < upper, got {bounds}")
    dataset = _loaded(source, split, ids, bounds, Frame(size, crop))
    if dataset.bounds != bounds:
        raise InvalidInput(f"`bounds` are for float arrays; {source} holds bytes, read as [0, 1]")
    return dataset


def _loaded(
    source: Path,
    split: str,
    labels: Path | None,
    bounds: tuple[float, float],
    frame: Frame,
) -> Dataset:
    kind = _kind(source)
    if labels is not None and kind not in ("npy", "idx", "image folder"):
        raise InvalidInput(
            f"`labels` go with an .npy or IDX file or a folder of images, {source} is none of them"
        )
    if frame != Frame() and kind not in ("image folder", "image", "tiny imagenet"):
        name = "crop" if frame.size is None else "size"
        raise InvalidInput(f"`{name}` is for a folder of images or one image, got {source}")
    if kind == "image":
        return load_image(source, frame)
    if kind == "tiny imagenet":
        return load_tiny_imagenet(source, split, frame)
    if kind == "npz":
        return load_npz(source, split, bounds=bounds)
    if kind == "npy":
        return load_npy(source, labels, bounds=bounds)
    if kind == "idx":
        return load_idx(source, labels)
    if kind == "cifar":
        return load_cifar_file(source)
    if kind == "idx folder":
        return load_idx_folder(source, split)
    if kind == "cifar sheets":
        return load_cifar_sheets(source, split)
    if kind == "cifar folder":
        return load_cifar_folder(source, split)
    return load_image_folder(_split_folder(source, split), frame, listing=labels)


def _kind(source: Path) -> str:
    if source.is_dir():
        if is_idx_folder(source):
            return "idx folder"
        if has_sheets(source):
            return "cifar sheets"
        if is_tiny_imagenet(source):
            return "tiny imagenet"
        return "cifar folder" if is_cifar_folder(source) else "image folder"
    name = source.name.lower()
    if name.endswith((".npz", ".npy")):
        return name[-3:]
    if "idx" in name or name.endswith("ubyte"):
        return "idx"
    if name.endswith(".bin"):
        return "cifar"
    if name.endswith(SUFFIXES):
        return "image"
    raise DataError(
        f"{source}: not a known kind of data: expected .npz, .npy, an IDX file "
        "(with idx in its name, also .gz), a CIFAR-10 .bin file, an image, or a folder"
    )


def _split_folder(folder: Path, split: str) -> Path:
    """`folder`/test or `folder`/train where the folder holds the splits, else the folder."""
    return folder / split if all((folder / each).is_dir() for each in SPLITS) else folder
