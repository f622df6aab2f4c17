"""Image files as inputs of one size, read when asked for."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import RESAMPLES
from dsrs.datasets.dataset import Dataset
from dsrs.errors import DataError, InvalidInput, imported

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
