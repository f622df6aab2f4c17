"""Each file format gives back what was written, and damage is an error that names the file."""

from __future__ import annotations

import gzip
import pickle
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs.datasets import Dataset, load_dataset
from dsrs.errors import DataError, DsrsError, InvalidInput, MissingExtra

RNG = np.random.default_rng(11)
GREY = RNG.integers(0, 256, (6, 5, 4), np.uint8)
COLOUR = RNG.integers(0, 256, (6, 3, 32, 32), np.uint8)
LABELS = np.array([3, 0, 9, 1, 1, 2], np.uint8)


def idx_bytes(values: NDArray[np.uint8]) -> bytes:
    return (
        struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape) + values.tobytes()
    )


def cifar_bytes(images: NDArray[np.uint8], labels: NDArray[np.uint8]) -> bytes:
    return np.column_stack([labels, images.reshape(len(images), -1)]).tobytes()


def write_npz(folder: Path) -> Path:
    np.savez(folder / "data.npz", x=GREY, y=LABELS)
    return folder / "data.npz"


def write_npy(folder: Path) -> Path:
    np.save(folder / "data.npy", GREY)
    return folder / "data.npy"


def write_idx(folder: Path) -> Path:
    (folder / "t10k-images-idx3-ubyte").write_bytes(idx_bytes(GREY))
    (folder / "t10k-labels-idx1-ubyte").write_bytes(idx_bytes(LABELS))
    return folder / "t10k-images-idx3-ubyte"


def write_idx_gz(folder: Path) -> Path:
    path = folder / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(idx_bytes(GREY)))
    (folder / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx_bytes(LABELS)))
    return path


def write_cifar(folder: Path) -> Path:
    (folder / "test_batch.bin").write_bytes(cifar_bytes(COLOUR, LABELS))
    return folder / "test_batch.bin"


WRITERS = [write_npz, write_npy, write_idx, write_idx_gz, write_cifar]


def assert_holds(dataset: Dataset, images: NDArray[np.uint8], labels: NDArray[np.uint8]) -> None:
    expected = images[:, None] if images.ndim == 3 else images
    assert len(dataset) == len(images)
    for index in range(len(images)):
        np.testing.assert_array_equal(dataset.input(index), expected[index] / np.float32(255))
    assert dataset.labels is not None
    assert dataset.labels.tolist() == labels.tolist()


@pytest.mark.parametrize("write", [write_npz, write_idx, write_idx_gz])
def test_one_dataset_in_three_formats(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    dataset = load_dataset(write(tmp_path))
    assert_holds(dataset, GREY, LABELS)
    assert dataset.fingerprint == Dataset.from_arrays(GREY, LABELS).fingerprint


def test_npy_takes_its_labels_from_a_second_file(tmp_path: Path) -> None:
    path = write_npy(tmp_path)
    assert load_dataset(path).labels is None
    np.save(tmp_path / "labels.npy", LABELS)
    assert_holds(load_dataset(path, labels=tmp_path / "labels.npy"), GREY, LABELS)


def test_large_arrays_are_mapped_and_not_read(tmp_path: Path) -> None:
    for write in (write_npy, write_idx, write_cifar):
        assert isinstance(load_dataset(write(tmp_path)).images, np.memmap)


@pytest.mark.parametrize("names", [("X", "Y"), ("images", "labels"), ("data", "targets")])
def test_npz_by_its_usual_names(tmp_path: Path, names: tuple[str, str]) -> None:
    arrays: dict[str, Any] = {names[0]: GREY, names[1]: LABELS}
    np.savez_compressed(tmp_path / "d.npz", **arrays)
    assert_holds(load_dataset(tmp_path / "d.npz"), GREY, LABELS)


def test_npz_with_two_splits(tmp_path: Path) -> None:
    split: dict[str, Any] = {"x_train": GREY[:4], "y_train": LABELS[:4]}
    split |= {"x_test": GREY[4:], "y_test": LABELS[4:]}
    np.savez(tmp_path / "d.npz", **split)
    assert_holds(load_dataset(tmp_path / "d.npz", "train"), GREY[:4], LABELS[:4])
    assert_holds(load_dataset(tmp_path / "d.npz"), GREY[4:], LABELS[4:])


def test_npz_labels_are_never_those_of_the_other_split(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x_test=GREY, y_train=LABELS)
    assert load_dataset(tmp_path / "d.npz").labels is None


def test_an_idx_folder_has_two_splits(tmp_path: Path) -> None:
    write_idx(tmp_path)
    (tmp_path / "train-images.idx3-ubyte").write_bytes(idx_bytes(GREY[::-1].copy()))
    (tmp_path / "train-labels.idx1-ubyte").write_bytes(idx_bytes(LABELS[::-1].copy()))
    assert_holds(load_dataset(tmp_path), GREY, LABELS)
    assert_holds(load_dataset(tmp_path, "train"), GREY[::-1], LABELS[::-1])


def test_a_cifar_folder_has_two_splits(tmp_path: Path) -> None:
    write_cifar(tmp_path)
    (tmp_path / "data_batch_1.bin").write_bytes(cifar_bytes(COLOUR[:2], LABELS[:2]))
    (tmp_path / "data_batch_2.bin").write_bytes(cifar_bytes(COLOUR[2:], LABELS[2:]))
    (tmp_path / "batches.meta.txt").write_text("airplane\n")
    assert_holds(load_dataset(tmp_path), COLOUR, LABELS)
    train = load_dataset(tmp_path, "train")
    assert_holds(train, COLOUR, LABELS)
    assert train.class_names[3] == "cat"


def test_a_pickle_that_is_not_cifar_says_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "test_batch").write_bytes(pickle.dumps({b"data": COLOUR}))
    with pytest.raises(DataError, match=r"expected an array `data` of rows of 3072 bytes"):
        load_dataset(tmp_path)


@pytest.mark.parametrize("write", WRITERS)
def test_cut_files_are_refused(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    path = write(tmp_path)
    content = path.read_bytes()
    whole_records = {3073 * count for count in range(1, 6)} if path.suffix == ".bin" else set()
    sizes = set(range(0, len(content), max(1, len(content) // 60))) | {len(content) - 1}
    for size in sizes - whole_records:
        path.write_bytes(content[:size])
        with pytest.raises(DataError, match=path.name):
            load_dataset(path)


@pytest.mark.parametrize("write", WRITERS)
def test_changed_bytes_are_an_error_of_ours_or_other_data(
    tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    path = write(tmp_path)
    content = np.frombuffer(path.read_bytes(), np.uint8)
    before = load_dataset(path).fingerprint
    rng = np.random.default_rng(2)
    # Headers are where the danger is: half of the changes go into the first 128 bytes.
    places = [*rng.integers(0, 128, 60), *rng.integers(0, len(content), 60)]
    for place in places:
        changed = content.copy()
        changed[place] ^= rng.integers(1, 256, dtype=np.uint8)
        path.write_bytes(changed.tobytes())
        try:
            after = load_dataset(path).fingerprint
        except DsrsError:
            continue
        # Dates and padding of a container, and spaces of a header, may change freely.
        assert after != before or path.suffix in (".npz", ".npy", ".gz")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"\x00\x00\x08\x01" + bytes(8), "with 3 axes"),
        (b"\x00\x00\x0d\x03" + bytes(12), "unsigned bytes"),
        (idx_bytes(GREY) + b"\0", "truncated or damaged"),
        (idx_bytes(GREY[:0]), "n >= 1"),
        (idx_bytes(GREY[:5]), "expected 5 labels"),
    ],
)
def test_wrong_idx_files_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    write_idx(tmp_path).write_bytes(content)
    with pytest.raises(DataError, match=rf"t10k-images-idx3-ubyte.*{message}"):
        load_dataset(tmp_path)


def test_cifar_labels_above_nine_are_refused(tmp_path: Path) -> None:
    (tmp_path / "test_batch.bin").write_bytes(cifar_bytes(COLOUR, LABELS + np.uint8(1)))
    with pytest.raises(DataError, match="from 0 to 9, got 10 in record 2"):
        load_dataset(tmp_path)


def test_arrays_that_need_a_pickle_are_refused(tmp_path: Path) -> None:
    objects = np.array([{"a": 1}], object)
    np.save(tmp_path / "d.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "d.npz", x=objects)
    for name in ("d.npy", "d.npz"):
        with pytest.raises(DataError, match="plain array"):
            load_dataset(tmp_path / name)


def test_an_array_and_an_archive_are_not_taken_for_each_other(tmp_path: Path) -> None:
    write_npy(tmp_path).rename(tmp_path / "array.npz")
    write_npz(tmp_path).rename(tmp_path / "archive.npy")
    for name in ("array.npz", "archive.npy"):
        with pytest.raises(DataError, match=f"{name}: expected .* got "):
            load_dataset(tmp_path / name)


def test_what_is_no_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file or folder"):
        load_dataset(tmp_path / "absent.npz")
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(DataError, match="not a known kind of data"):
        load_dataset(tmp_path / "notes.txt")
    with pytest.raises(DataError, match="expected images"):
        load_dataset(tmp_path)
    np.savez(tmp_path / "d.npz", pictures=GREY)
    with pytest.raises(DataError, match="got pictures"):
        load_dataset(tmp_path / "d.npz")


def test_options_that_do_not_apply_are_refused(tmp_path: Path) -> None:
    path = write_npz(tmp_path)
    with pytest.raises(InvalidInput, match="`split`"):
        load_dataset(path, "validation")
    with pytest.raises(InvalidInput, match="`labels`"):
        load_dataset(path, labels=path)
    with pytest.raises(InvalidInput, match="`size`"):
        load_dataset(path, size=3)
    with pytest.raises(InvalidInput, match="`bounds`"):
        load_dataset(write_cifar(tmp_path), bounds=(-1.0, 1.0))


def test_a_missing_extra_names_its_pip_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "1.png").write_bytes(b"any")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtra, match=r"dsrs\[images\]"):
        load_dataset(tmp_path)
