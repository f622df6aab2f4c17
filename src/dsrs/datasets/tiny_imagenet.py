"""TinyImageNet as it is published: 200 classes, 64x64 pixels, labels in files of its own.

    wnids.txt                      the names of the classes
    train/n01443537/images/*.JPEG  500 images of each class
    val/images/*.JPEG              10,000 images, and their classes in val/val_annotations.txt

Its own test images have no public labels, so the split `test` is `val`. Many people move the
validation images to folders of their classes, which is understood too. Classes are numbered in the
order of their names, as folders of classes are everywhere.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dsrs.datasets.dataset import Dataset
from dsrs.datasets.image_files import Frame, dataset_of_files, images_in
from dsrs.errors import DataError
from dsrs.files import text_of_file

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
