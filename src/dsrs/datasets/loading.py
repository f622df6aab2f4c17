"""One door for data given by path: which format it is, is told by the name and the content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dsrs.classifiers import UNIT_BOUNDS, checked_bounds
from dsrs.datasets.cifar import is_cifar_folder, load_cifar_file, load_cifar_folder
from dsrs.datasets.csv_file import CSV_SUFFIXES as CSV_SUFFIXES
from dsrs.datasets.csv_file import load_csv
from dsrs.datasets.dataset import Dataset
from dsrs.datasets.idx_file import is_idx_folder, load_idx, load_idx_folder
from dsrs.datasets.image_files import IMAGE_SUFFIXES, Frame
from dsrs.datasets.image_folder import load_image, load_image_folder
from dsrs.datasets.numpy_file import load_npy, load_npz
from dsrs.datasets.parquet_images import is_parquet_folder, load_parquet
from dsrs.datasets.tiny_imagenet import is_tiny_imagenet, load_tiny_imagenet
from dsrs.errors import DataError, InvalidInput

SPLITS = ("test", "train")
# Kinds of data whose images are scaled and cropped as they are read.
FRAMED = ("image", "image folder", "tiny imagenet", "parquet")


def load_dataset(
    path: str | Path,
    split: str = "test",
    *,
    labels: str | Path | None = None,
    label_column: str | None = None,
    bounds: tuple[float, float] = UNIT_BOUNDS,
    size: int | None = None,
    crop: int | None = None,
    resample: str = "bilinear",
    stretch: bool = False,
) -> Dataset:
    """The dataset at `path`: arrays, CSV, IDX, CIFAR-10, TinyImageNet, Parquet or image files.

    Args:
        path: The file or folder.
        split: test or train, where the data has both.
        labels: A second file, for .npy, IDX and a folder of images.
        label_column: The column of the labels in a CSV file.
        bounds: The units of float arrays.
        size: Scale the shorter side of images to this and keep the middle square.
        crop: Keep the middle square of this many pixels, after `size` if both are given.
        resample: The filter of the scaling, such as bicubic.
        stretch: Scale both sides to `size`, whatever they were.
    """
    if split not in SPLITS:
        raise InvalidInput(f"`split` must be one of {', '.join(SPLITS)}, got {split!r}")
    source, ids = Path(path), None if labels is None else Path(labels)
    for given in (source, *(() if ids is None else (ids,))):
        if not given.exists():
            raise DataError(f"there is no file or folder {str(given)!r}")
    checked_bounds(bounds)
    asked = _Asked(split, ids, label_column, bounds, Frame(size, crop, resample, stretch))
    dataset = _loaded(source, asked)
    if dataset.bounds != bounds:
        raise InvalidInput(f"`bounds` are for float arrays; {source} holds bytes, read as [0, 1]")
    return dataset


def takes_frame(path: str | Path) -> bool:
    """Whether the data at `path` are images that are scaled and cropped as they are read."""
    return Path(path).exists() and _kind(Path(path)) in FRAMED


@dataclass(frozen=True)
class _Asked:
    """How the data is to be read."""

    split: str
    labels: Path | None
    label_column: str | None
    bounds: tuple[float, float]
    frame: Frame


def _loaded(source: Path, asked: _Asked) -> Dataset:
    kind = _kind(source)
    if asked.labels is not None and kind not in ("npy", "idx", "image folder"):
        raise InvalidInput(
            f"`labels` go with an .npy or IDX file or a folder of images, {source} is none of them"
        )
    if asked.label_column is not None and kind != "csv":
        raise InvalidInput(f"`label_column` is for a CSV file, got {source}")
    if asked.frame != Frame() and kind not in FRAMED:
        name = "crop" if asked.frame.size is None else "size"
        raise InvalidInput(f"`{name}` is for a folder of images or one image, got {source}")
    return LOADERS[kind](source, asked)


# How each kind of data is read.
LOADERS: dict[str, Callable[[Path, _Asked], Dataset]] = {
    "image": lambda source, asked: load_image(source, asked.frame),
    "image folder": lambda source, asked: load_image_folder(
        _split_folder(source, asked.split), asked.frame, asked.labels
    ),
    "tiny imagenet": lambda source, asked: load_tiny_imagenet(source, asked.split, asked.frame),
    "parquet": lambda source, asked: load_parquet(source, asked.split, asked.frame),
    "npz": lambda source, asked: load_npz(source, asked.split, asked.bounds),
    "npy": lambda source, asked: load_npy(source, asked.labels, asked.bounds),
    "csv": lambda source, asked: load_csv(source, asked.label_column, asked.bounds),
    "idx": lambda source, asked: load_idx(source, asked.labels),
    "idx folder": lambda source, asked: load_idx_folder(source, asked.split),
    "cifar": lambda source, asked: load_cifar_file(source),
    "cifar folder": lambda source, asked: load_cifar_folder(source, asked.split),
}


def _kind(source: Path) -> str:
    if source.is_dir():
        if is_idx_folder(source):
            return "idx folder"
        if is_tiny_imagenet(source):
            return "tiny imagenet"
        if is_parquet_folder(source):
            return "parquet"
        return "cifar folder" if is_cifar_folder(source) else "image folder"
    name = source.name.lower()
    if name.endswith((".npz", ".npy")):
        return name[-3:]
    if name.endswith((*CSV_SUFFIXES, ".parquet")):
        return "parquet" if name.endswith(".parquet") else "csv"
    if "idx" in name or name.endswith("ubyte"):
        return "idx"
    if name.endswith(".bin"):
        return "cifar"
    if name.endswith(IMAGE_SUFFIXES):
        return "image"
    raise DataError(
        f"{source}: not a known kind of data: expected .npz, .npy, .csv, .parquet, an IDX "
        "file (with idx in its name, also .gz), a CIFAR-10 .bin file, an image, or a folder"
    )


def _split_folder(folder: Path, split: str) -> Path:
    """Return `folder`/test or `folder`/train where the folder holds the splits, else the folder."""
    return folder / split if all((folder / each).is_dir() for each in SPLITS) else folder
