"""A folder of images by class: one subfolder a class, read when asked for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.datasets.dataset import Dataset
from dsrs.datasets.image_list import listed_images
from dsrs.errors import DataError, InvalidInput, MissingExtra

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff")


@dataclass(frozen=True)
class ImageFiles:
    """Reads like an array of shape (n, channels, H, W), but holds only the paths."""

    files: tuple[Path, ...]
    shape: tuple[int, int, int, int]
    size: int | None

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.uint8)

    def __getitem__(self, index: int, /) -> NDArray[np.uint8]:
        path = self.files[index]
        pixels = _pixels(path, grey=self.shape[1] == 1, size=self.size)
        if pixels.shape != self.shape[1:]:
            raise DataError(
                f"{path}: expected an image of shape {self.shape[1:]}, got {pixels.shape}; "
                "give `size` to scale and crop all images to one size"
            )
        return pixels


def load_image_folder(
    folder: Path, *, size: int | None = None, listing: Path | None = None
) -> Dataset:
    """The images in the subfolders of `folder`; classes are numbered in the order of their names.

    Images without subfolders have no labels. With a `listing` the images are those that it names,
    with the classes that it gives. Grey images have one channel, all others three.
    Without `size` all images must be equally large; with it the shorter side is scaled to
    `size` and the middle square is kept. The fingerprint is of the files, in their order.
    """
    if size is not None and size < 1:
        raise InvalidInput(f"`size` must be at least 1 pixel, got {size}")
    if listing is not None:
        return _listed(folder, size, listing)
    classes = sorted(each for each in folder.iterdir() if each.is_dir() and _images_in(each))
    groups = [_images_in(each) for each in classes] or [_images_in(folder)]
    files = tuple(path for group in groups for path in group)
    if not files:
        raise DataError(
            f"{folder}: expected images ({', '.join(SUFFIXES)}) in one subfolder a class, got none"
        )
    labels = np.repeat(np.arange(len(groups), dtype=np.int64), [len(each) for each in groups])
    shape = _common_shape(files, size)
    return Dataset(
        images=ImageFiles(files, (len(files), *shape), size),
        labels=labels if classes else None,
        name=str(folder),
        fingerprint=_fingerprint(folder, files, size),
        class_names=tuple(each.name for each in classes),
    )


def _listed(folder: Path, size: int | None, listing: Path) -> Dataset:
    files, labels = listed_images(folder, listing)
    digest = hashlib.sha256(
        _fingerprint(folder, files, size).encode() + labels.astype("<i8").tobytes()
    )
    return Dataset(
        images=ImageFiles(files, (len(files), *_common_shape(files, size)), size),
        labels=labels,
        name=str(folder),
        fingerprint=f"sha256:{digest.hexdigest()}",
    )


def load_image(path: Path, *, size: int | None = None) -> Dataset:
    """One image as a dataset of one input, without a label."""
    if size is not None and size < 1:
        raise InvalidInput(f"`size` must be at least 1 pixel, got {size}")
    shape = _common_shape((path,), size)
    return Dataset(
        images=ImageFiles((path,), (1, *shape), size),
        labels=None,
        name=str(path),
        fingerprint=_fingerprint(path.parent, (path,), size),
    )


def _images_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)


def _common_shape(files: tuple[Path, ...], size: int | None) -> tuple[int, int, int]:
    headers = [_header(path) for path in files]
    channels = 1 if all(mode in ("1", "L") for mode, _, _ in headers) else 3
    if size is not None:
        return channels, size, size
    _, width, height = headers[0]
    for path, (_, other_width, other_height) in zip(files, headers, strict=True):
        if (other_width, other_height) != (width, height):
            raise DataError(
                f"{path}: expected {width} x {height} pixels as in {files[0].name}, got "
                f"{other_width} x {other_height}; "
                "give `size` to scale and crop all images to one size"
            )
    return channels, height, width


def _header(path: Path) -> tuple[str, int, int]:
    with opened_image(path) as image:
        return image.mode, image.width, image.height


def _pixels(path: Path, *, grey: bool, size: int | None) -> NDArray[np.uint8]:
    with opened_image(path) as image:
        try:
            # A damaged image shows itself only when its pixels are read.
            pixels = image.convert("L" if grey else "RGB")
        except (OSError, SyntaxError, ValueError) as error:
            raise DataError(f"{path}: the image is damaged: {error}") from error
    if size is not None:
        pixels = _middle_square(pixels, size)
    values = np.asarray(pixels)
    return values[None] if grey else values.transpose(2, 0, 1)


def _middle_square(image: Any, size: int) -> Any:
    shorter = min(image.size)
    width, height = (max(size, round(side * size / shorter)) for side in image.size)
    left, top = (width - size) // 2, (height - size) // 2
    scaled = image.resize((width, height), _pillow().Resampling.BILINEAR)
    return scaled.crop((left, top, left + size, top + size))


def opened_image(path: Path) -> Any:
    """A Pillow image whose pixels are not read yet, or DataError."""
    try:
        return _pillow().open(path)
    except (OSError, SyntaxError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as an image: {error}") from error


def _pillow() -> ModuleType:
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtra("pillow", "images") from None
    return Image


def _fingerprint(folder: Path, files: tuple[Path, ...], size: int | None) -> str:
    digest = hashlib.sha256(f"images {size}".encode())
    for path in files:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return f"sha256:{digest.hexdigest()}"
