"""Thumbnails are valid PNG files of the right pixels, as another program reads them."""

from __future__ import annotations

import io

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs.store import MAX_SIDE, thumbnail


def pixels(png: bytes | None) -> np.ndarray:
    image = pytest.importorskip("PIL.Image")
    assert png is not None
    with image.open(io.BytesIO(png)) as opened:
        opened.load()
        return np.asarray(opened)


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 20), (28, 30)])
def test_small_images_are_exact(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).integers(0, 256, shape).astype(np.float32)
    expected = x[None] if x.ndim == 2 else x
    expected = np.squeeze(expected.transpose(1, 2, 0)).astype(np.uint8)
    shades: NDArray[np.float32] = np.divide(x, 255, dtype=np.float32)
    assert np.array_equal(pixels(thumbnail(shades)), expected)
    # The same picture in other units.
    centred: NDArray[np.float32] = np.subtract(2 * shades, 1, dtype=np.float32)
    assert np.array_equal(pixels(thumbnail(centred, (-1.0, 1.0))), expected)


def test_large_images_shrink_to_block_means() -> None:
    x = np.zeros((3, 130, 257), np.float32)
    x[0, :, 128:] = 1
    x[1, 5:10, :5] = 0.5
    small = pixels(thumbnail(x))
    assert small.shape == (26, 52, 3)  # blocks of 5: the least that brings 257 to MAX_SIDE
    assert max(small.shape) <= MAX_SIDE
    assert small[1, 0].tolist() == [0, 128, 0]
    assert small[20, 40].tolist() == [255, 0, 0]
    assert small[20, 25].tolist() == [102, 0, 0]  # two of five columns


def test_what_is_no_image_has_no_thumbnail() -> None:
    assert thumbnail(np.zeros(10, np.float32)) is None
    assert thumbnail(np.zeros((2, 5, 5), np.float32)) is None
