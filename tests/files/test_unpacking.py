"""Small files cannot fill the memory."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dsrs.datasets import load_dataset
from dsrs.errors import DataError, InvalidInput
from dsrs.files import LIMIT_VARIABLE, unpacked_gzip


def test_an_npz_that_unfolds_too_far_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, images=np.zeros((3000, 28, 28), np.uint8))
    monkeypatch.setenv(LIMIT_VARIABLE, "0.001")
    with pytest.raises(DataError, match=rf"unfold from .* set {LIMIT_VARIABLE}"):
        load_dataset(path)
    monkeypatch.setenv(LIMIT_VARIABLE, "0.01")
    assert len(load_dataset(path)) == 3000
    monkeypatch.setenv(LIMIT_VARIABLE, "0")
    np.savez(path, images=np.zeros((3000, 28, 28), np.uint8))
    assert len(load_dataset(path)) == 3000  # stored as it is: nothing unfolds


def test_the_limit_that_nobody_set_stops_a_bomb(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    head = {"descr": "|u1", "fortran_order": False, "shape": (1_700_000, 1000)}
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("images.npy", "w") as member,
    ):
        np.lib.format.write_array_header_1_0(member, head)
        for _ in range(1700):
            member.write(bytes(1_000_000))
    assert path.stat().st_size < 3e6
    with pytest.raises(DataError, match="would unfold"):
        load_dataset(path)


def test_a_gz_that_unfolds_too_far_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(bytes(10**7))
    assert unpacked_gzip(packed, "it") == bytes(10**7)
    monkeypatch.setenv(LIMIT_VARIABLE, "0.005")
    with pytest.raises(DataError, match="would unfold"):
        unpacked_gzip(packed, "it")
    monkeypatch.setenv(LIMIT_VARIABLE, "much")
    with pytest.raises(InvalidInput, match="number of gigabytes, got 'much'"):
        unpacked_gzip(packed, "it")


@pytest.mark.parametrize("name", ["x.npz", "x.npy"])
def test_numpys_advice_to_read_pickles_is_not_passed_on(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    objects = np.array([{"a": 1}, None], dtype=object)
    if name == "x.npz":
        np.savez(path, images=objects)
    else:
        np.save(path, objects)
    with pytest.raises(DataError, match="never opened") as caught:
        load_dataset(path)
    assert "allow_pickle" not in str(caught.value)
    path.write_bytes(b"\x80\x04N.")
    with pytest.raises(DataError) as caught:
        load_dataset(path)
    assert "allow_pickle" not in str(caught.value)
    assert "unsafely" not in str(caught.value)
