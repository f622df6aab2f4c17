"""Image files as inputs of one size, read when asked for: folders, lists, and TinyImageNet."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import RESAMPLES
from dsrs.datasets.dataset import Dataset, checked_labels
from dsrs.errors import DataError, InvalidInput, imported
from dsrs.files import text_of_file

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff")


@dataclass(frozen=True)
class Frame:
    """How images are brought to one size.

    Attributes:
        size: Pixels to which the shorter side is scaled; None: images stay as large as they are.
        crop: Pixels of the middle square that is kept; None: `size`, or the whole image.
        resample: The filter of the scaling, by Pillow's name in small letters.
        stretch: Whether both sides are scaled to `size`, whatever they were.
    """

    size: int | None = None
    crop: int | None = None
    resample: str = "bilinear"
    stretch: bool = False

    def __post_init__(self) -> None:
        if self.resample not in RESAMPLES:
            raise InvalidInput(
                f"`resample` must be one of {', '.join(RESAMPLES)}, got {self.resample!r}"
            )
        if self.size is None and (self.stretch or self.resample != "bilinear"):
            raise InvalidInput("`resample` and `stretch` say how images are scaled; give `size`")
        for name in ("size", "crop"):
            pixels = getattr(self, name)
            if pixels is not None and pixels < 1:
                raise InvalidInput(f"`{name}` must be at least 1 pixel, got {pixels}")
        if self.size is not None and self.crop is not None and self.crop > self.size:
            raise InvalidInput(f"`crop` must be at most `size` = {self.size}, got {self.crop}")

    @property
    def side(self) -> int | None:
        """Height and width of every image in this frame, where it does not leave them."""
        return self.crop if self.crop is not None else self.size

    def framed(self, image: Any, path: Path | str) -> Any:
        """A Pillow image in this frame."""
        if self.size is not None:
            shorter = min(image.size)
            sides = (max(self.size, round(side * self.size / shorter)) for side in image.size)
            wanted = (self.size, self.size) if self.stretch else tuple(sides)
            image = image.resize(wanted, _pillow().Resampling[self.resample.upper()])
        if self.side is None:
            return image
        left, top = ((pixels - self.side) // 2 for pixels in image.size)
        if min(left, top) < 0:
            raise DataError(
                f"{path}: `crop` = {self.side} is larger than the image, {image.width} x "
                f"{image.height}; give `size` to scale images first"
            )
        return image.crop((left, top, left + self.side, top + self.side))

    def __str__(self) -> str:
        # Part of fingerprints: what is as by default was not there before.
        parts = [str(self.size)] if self.crop is None else [str(self.size), str(self.crop)]
        parts += [] if self.resample == "bilinear" else [self.resample]
        return " ".join([*parts, *(["stretched"] if self.stretch else [])])


@dataclass(frozen=True)
class ImagesInFiles:
    """Reads like an array of shape (n, channels, H, W), but holds only the names of the images.

    Attributes:
        names: the paths of the images, or what messages call them.
        shape: of the array.
        frame: how images are brought to one size.
        content: reads the bytes of an image that has no file of its own, by its number.
    """

    names: Sequence[Path | str]
    shape: tuple[int, int, int, int]
    frame: Frame
    content: Callable[[int], bytes] | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.uint8)

    def __getitem__(self, index: int, /) -> NDArray[np.uint8]:
        """The pixels (channels, height, width) of an image in its frame."""
        name, shape = self.names[index], self.shape[1:]
        with opened_image(name, None if self.content is None else self.content(index)) as image:
            try:
                # A damaged image shows itself only when its pixels are read.
                pixels = image.convert("L" if shape[0] == 1 else "RGB")
            except (OSError, SyntaxError, ValueError) as error:
                raise DataError(f"{name}: the image is damaged: {error}") from error
            values = np.asarray(self.frame.framed(pixels, name))
        values = values[None] if shape[0] == 1 else values.transpose(2, 0, 1)
        if values.shape != shape:
            raise DataError(
                f"{name}: expected an image of shape {shape}, got {values.shape}; "
                "give `size` to scale and crop all images to one size"
            )
        return values


def dataset_of_files(
    folder: Path,
    files: Sequence[Path],
    labels: NDArray[np.int64] | None,
    frame: Frame,
    *,
    class_names: Sequence[str] = (),
    hash_labels: bool = False,
) -> Dataset:
    """A dataset of image files below `folder`.

    Args:
        folder: The folder that names the dataset; paths in the fingerprint are relative to it.
        files: The images, in the order of the dataset.
        labels: Their classes, where known.
        frame: How they are brought to one size.
        class_names: Names of the classes, where known.
        hash_labels: Whether the classes are part of the fingerprint: they are not where the paths
            say them.
    """
    fingerprint = _fingerprint(folder, files, frame)
    if hash_labels and labels is not None:
        content = fingerprint.encode() + labels.astype("<i8").tobytes()
        fingerprint = f"sha256:{hashlib.sha256(content).hexdigest()}"
    shape = common_shape([header_of(path) for path in files], files, frame)
    return Dataset(
        images=ImagesInFiles(tuple(files), (len(files), *shape), frame),
        labels=labels,
        name=str(folder),
        fingerprint=fingerprint,
        class_names=tuple(class_names),
    )


def images_in(folder: Path) -> list[Path]:
    """The image files of a folder, in the order of their names."""
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in IMAGE_SUFFIXES)


def opened_image(name: Path | str, content: bytes | None = None) -> Any:
    """A Pillow image whose pixels are not read yet, or DataError.

    `name` is its path, or what messages call it if its bytes are `content`.
    """
    try:
        return _pillow().open(name if content is None else io.BytesIO(content))
    except (OSError, SyntaxError, ValueError) as error:
        raise DataError(f"{name}: cannot be read as an image: {error}") from error


def common_shape(
    headers: Sequence[tuple[str, int, int]], names: Sequence[Path | str], frame: Frame
) -> tuple[int, int, int]:
    """The shape of every image, from mode, width and height of each as its header has them."""
    channels = 1 if all(mode in ("1", "L") for mode, _, _ in headers) else 3
    if frame.side is not None:
        return channels, frame.side, frame.side
    _, width, height = headers[0]
    for name, (_, other_width, other_height) in zip(names, headers, strict=True):
        if (other_width, other_height) != (width, height):
            raise DataError(
                f"{name}: expected {width} x {height} pixels as in {Path(names[0]).name}, got "
                f"{other_width} x {other_height}; "
                "give `size` to scale and crop all images to one size"
            )
    return channels, height, width


def header_of(name: Path | str, content: bytes | None = None) -> tuple[str, int, int]:
    """Mode, width and height of an image, as `opened_image` finds it."""
    with opened_image(name, content) as image:
        return image.mode, image.width, image.height


def _fingerprint(folder: Path, files: Sequence[Path], frame: Frame) -> str:
    digest = hashlib.sha256(f"images {frame}".encode())
    for path in files:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return f"sha256:{digest.hexdigest()}"


def _pillow() -> ModuleType:
    return imported("PIL.Image", "images", "pillow")


# ---- The classes of images in a text file, as ImageNet's validation images have them
# A folder for each class says which images belong together, but not which of a model's classes
# that is unless every class has a folder.

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


# ---- Folders of images: one subfolder a class, or a list of their classes, or one image


def load_image_folder(folder: Path, frame: Frame, listing: Path | None) -> Dataset:
    """The images in the subfolders of `folder`; classes are numbered in the order of their names.

    Images without subfolders have no labels. With a `listing` the images are those that it names,
    with the classes that it gives. Grey images have one channel, all others three. Images that
    `frame` leaves as they are must be equally large. The fingerprint is of the files, in their
    order.
    """
    if listing is not None:
        listed, classes_of = listed_images(folder, listing)
        return dataset_of_files(folder, listed, classes_of, frame, hash_labels=True)
    classes = sorted(each for each in folder.iterdir() if each.is_dir() and images_in(each))
    groups = [images_in(each) for each in classes] or [images_in(folder)]
    files = [path for group in groups for path in group]
    if not files:
        raise DataError(
            f"{folder}: expected images ({', '.join(IMAGE_SUFFIXES)}) in one subfolder a class, "
            "got none"
        )
    labels = np.repeat(np.arange(len(groups), dtype=np.int64), [len(each) for each in groups])
    names = [each.name for each in classes]
    return dataset_of_files(folder, files, labels if classes else None, frame, class_names=names)


def load_image(path: Path, frame: Frame) -> Dataset:
    """One image as a dataset of one input, without a label."""
    return replace(dataset_of_files(path.parent, [path], None, frame), name=str(path))


# ---- TinyImageNet as it is published: 200 classes, 64x64 pixels, labels in files of its own
#    wnids.txt                      the names of the classes
#    train/n01443537/images/*.JPEG  500 images of each class
#    val/images/*.JPEG              10,000 images, and their classes in val/val_annotations.txt
#
# Its own test images have no public labels, so the split `test` is `val`. Many people move the
# validation images to folders of their classes, which is understood too. Classes are numbered in
# the order of their names, as folders of classes are everywhere.

NAMES_FILE, ANNOTATIONS_FILE = "wnids.txt", "val_annotations.txt"


def is_tiny_imagenet(folder: Path) -> bool:
    """Whether `folder` is laid out as TinyImageNet is."""
    return (folder / NAMES_FILE).is_file() and (folder / "val").is_dir()


def load_tiny_imagenet(folder: Path, split: str, frame: Frame) -> Dataset:
    """The `split` of TinyImageNet: train, or the validation images as test."""
    names = sorted(text_of_file(folder / NAMES_FILE).split())
    if split == "train":
        files, classes = _by_folder(folder / "train", names)
    elif (folder / "val" / ANNOTATIONS_FILE).is_file():
        files, classes = _by_list(folder / "val", names)
    else:
        files, classes = _by_folder(folder / "val", names)
    if not files:
        raise DataError(f"{folder}: expected images of the split {split!r}, got none")
    labels = np.array(classes, np.int64)
    return dataset_of_files(folder, files, labels, frame, class_names=names, hash_labels=True)


def _by_folder(folder: Path, names: list[str]) -> tuple[list[Path], list[int]]:
    """The images in the subfolders of the classes, or in `images` of those."""
    files: list[Path] = []
    classes: list[int] = []
    for index, name in enumerate(names):
        home = folder / name / "images"
        home = home if home.is_dir() else folder / name
        if not home.is_dir():
            raise DataError(f"{folder}: expected a folder of images for the class {name!r}")
        images = images_in(home)
        files += images
        classes += [index] * len(images)
    return files, classes


def _by_list(folder: Path, names: list[str]) -> tuple[list[Path], list[int]]:
    """The images that the annotations name: a line has the file, its class and a box."""
    numbers = {name: index for index, name in enumerate(names)}
    listing = folder / ANNOTATIONS_FILE
    files: list[Path] = []
    classes: list[int] = []
    for number, line in enumerate(text_of_file(listing).splitlines(), start=1):
        words = line.split()
        if not words:
            continue
        if len(words) < 2 or words[1] not in numbers or "/" in words[0]:
            raise DataError(
                f"{listing}, line {number}: expected an image and one of {len(names)} classes, "
                f"got {line!r}"
            )
        files.append(folder / "images" / words[0])
        classes.append(numbers[words[1]])
    return files, classes
