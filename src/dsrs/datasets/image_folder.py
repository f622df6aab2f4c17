"""Folders of images: one subfolder a class, or a list of their classes, or one image."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dsrs.datasets.dataset import Dataset
from dsrs.datasets.image_files import IMAGE_SUFFIXES, Frame, dataset_of_files, images_in
from dsrs.datasets.image_list import listed_images
from dsrs.errors import DataError


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
