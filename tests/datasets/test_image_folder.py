"""Folders of images: order, labels, size, and damaged files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dsrs.datasets import load_dataset
from dsrs.errors import DataError, InvalidInput

Image = pytest.importorskip("PIL.Image", reason="needs the extra `images`")

PIXELS = np.random.default_rng(4).integers(0, 256, (4, 6, 8, 3), np.uint8)


def write(folder: Path) -> None:
    for label, name in enumerate(["dog", "cat"]):
        (folder / name).mkdir()
        for number in range(2):
            pixels = PIXELS[2 * label + number]
            Image.fromarray(pixels).save(folder / name / f"{number}.png")


def test_classes_are_numbered_in_the_order_of_their_names(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "readme.txt").write_text("not an image")
    dataset = load_dataset(tmp_path)
    assert dataset.class_names == ("cat", "dog")
    assert dataset.labels is not None
    assert dataset.labels.tolist() == [0, 0, 1, 1]
    assert dataset.input_shape == (3, 6, 8)
    for index, written in enumerate([2, 3, 0, 1]):
        expected = PIXELS[written].transpose(2, 0, 1) / np.float32(255)
        np.testing.assert_array_equal(dataset.input(index), expected)


def test_the_folder_of_a_split_is_chosen(tmp_path: Path) -> None:
    for split in ("train", "test"):
        (tmp_path / split).mkdir()
        write(tmp_path / split)
    (tmp_path / "test" / "cat" / "1.png").unlink()
    assert len(load_dataset(tmp_path)) == 3
    assert len(load_dataset(tmp_path, "train")) == 4


def test_without_subfolders_there_are_no_labels_and_grey_is_one_channel(tmp_path: Path) -> None:
    Image.fromarray(PIXELS[0, :, :, 0]).save(tmp_path / "a.png")
    dataset = load_dataset(tmp_path)
    assert dataset.labels is None
    assert dataset.input_shape == (1, 6, 8)
    np.testing.assert_array_equal(dataset.input(0)[0], PIXELS[0, :, :, 0] / np.float32(255))


def test_sizes_must_agree_or_be_given(tmp_path: Path) -> None:
    write(tmp_path)
    Image.fromarray(np.full((20, 10, 3), 51, np.uint8)).save(tmp_path / "dog" / "9.png")
    with pytest.raises(DataError, match=r"9\.png: expected 8 x 6 pixels .* got 10 x 20.*`size`"):
        load_dataset(tmp_path)
    dataset = load_dataset(tmp_path, size=5)
    assert dataset.input_shape == (3, 5, 5)
    np.testing.assert_array_equal(dataset.input(4), np.full((3, 5, 5), 51 / np.float32(255)))
    with pytest.raises(InvalidInput, match="`size`"):
        load_dataset(tmp_path, size=0)


def test_the_crop_is_the_middle(tmp_path: Path) -> None:
    stripes = np.zeros((4, 12, 3), np.uint8)
    stripes[:, 4:8] = 255
    Image.fromarray(stripes).save(tmp_path / "a.png")
    assert load_dataset(tmp_path, size=4).input(0).min() == 1.0


def test_the_fingerprint_follows_files_names_and_size(tmp_path: Path) -> None:
    write(tmp_path)
    seen = {load_dataset(tmp_path).fingerprint, load_dataset(tmp_path, size=5).fingerprint}
    (tmp_path / "dog" / "1.png").rename(tmp_path / "dog" / "7.png")
    seen.add(load_dataset(tmp_path).fingerprint)
    Image.fromarray(PIXELS[3]).save(tmp_path / "dog" / "7.png")
    seen.add(load_dataset(tmp_path).fingerprint)
    assert len(seen) == 4


def test_damaged_images_are_named(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / "cat" / "1.png"
    content = path.read_bytes()
    for size in range(0, len(content) - 13, 23):
        path.write_bytes(content[:size])
        with pytest.raises(DataError, match=r"1\.png"):
            load_dataset(tmp_path).input(1)


def test_a_list_gives_the_classes_and_the_order(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "dog" / "0.png").rename(tmp_path / "dog" / "a b, c.png")
    listing = tmp_path / "val.txt"
    listing.write_text("dog/1.png 243\n\ncat/0.png, 7\ndog/a b, c.png 12\n")
    dataset = load_dataset(tmp_path, labels=listing)
    assert dataset.labels is not None
    assert dataset.labels.tolist() == [243, 7, 12]
    for index, written in enumerate([1, 2, 0]):
        expected = PIXELS[written].transpose(2, 0, 1) / np.float32(255)
        np.testing.assert_array_equal(dataset.input(index), expected)
    seen = dataset.fingerprint
    listing.write_text("dog/1.png 243\ncat/0.png, 8\ndog/a b, c.png 12\n")
    assert load_dataset(tmp_path, labels=listing).fingerprint != seen


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "expected lines such as"),
        ("dog/1.png\n", "line 1: expected a path and a class number"),
        ("dog/1.png 2\ncat/0.png dog\n", "line 2: expected a path and a class number"),
        ("dog/1.png -1\n", "line 1: expected a path and a class number"),
        ("dog/1.png " + "9" * 5000, "line 1: expected a path and a class number"),
        ("dog/8.png 2\n", "line 1: there is no image 'dog/8.png'"),
        ("../dog/1.png 2\n", "line 1: expected a path in the folder"),
        ("/dog/1.png 2\n", "line 1: expected a path in the folder"),
        ("dog/1.png 2\ndog/1.png 3\n", "line 2: 'dog/1.png' stands there twice"),
        ("dog/1.png 99999999999999999999\n", "labels must"),
        ("val.txt 2\n", "cannot be read as an image"),
        ("\udcff 2\n", "cannot be read as a list of images"),
    ],
)
def test_lists_that_cannot_be_read(tmp_path: Path, text: str, complaint: str) -> None:
    write(tmp_path)
    listing = tmp_path / "val.txt"
    listing.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(DataError, match=complaint):
        load_dataset(tmp_path, labels=listing)
