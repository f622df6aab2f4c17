"""What `adapt` learns from: nothing that is also in the data to certify."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrs.adapting import without_shared
from dsrs.datasets import Dataset, load_dataset
from dsrs.errors import InvalidInput

PIXELS = np.random.default_rng(0).integers(0, 256, (10, 1, 4, 4), dtype=np.uint8)
DATA = Dataset.from_arrays(PIXELS[:6], np.arange(6) % 2)


def others_of(images: Any, labels: Any = None, **options: Any) -> Any:
    data = Dataset.from_arrays(images, labels)
    return without_shared((data, range(len(data))), DATA, **{"ways": [], **options})


def test_the_same_images_in_another_form_are_not_learned_from(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found, rows = others_of(PIXELS[3:] / 255.0, np.arange(7))
    assert "3 of 7 inputs to learn from (--train-data) are also in the data to" in caplog.text
    assert "learned from the other 4" in caplog.text
    # What is left is a whole data set, as fine-tune wants it.
    assert list(rows) == [0, 1, 2, 3]
    assert found.labels.tolist() == [3, 4, 5, 6]
    assert np.array_equal(found.images, PIXELS[6:] / 255.0)
    assert found.fingerprint == Dataset.from_arrays(PIXELS[6:] / 255.0, [3, 4, 5, 6]).fingerprint


def test_of_some_inputs_some_stay() -> None:
    data = Dataset.from_arrays(PIXELS)
    found, rows = without_shared((data, [4, 5, 8, 9]), DATA, []) or (None, ())
    assert (found, list(rows)) == (data, [8, 9])


def test_other_images_stay_as_they_are(caplog: pytest.LogCaptureFixture) -> None:
    data = Dataset.from_arrays(PIXELS[6:])
    assert without_shared((data, range(4)), DATA, ["statistics"]) == (data, range(4))
    assert not caplog.text


def test_where_nothing_is_left_nothing_is_learned(caplog: pytest.LogCaptureFixture) -> None:
    assert others_of(PIXELS[:4]) is None
    assert "4 of 4 inputs" in caplog.text
    assert "nothing is learned from them" in caplog.text
    with pytest.raises(InvalidInput, match=r"4 of 4 inputs .*: give others to denoiser"):
        others_of(PIXELS[:4], ways=["denoiser"])
    assert others_of(PIXELS[:4], ways=["dct"]) is None


def test_images_in_files_are_compared_where_they_are_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pillow = pytest.importorskip("PIL.Image", reason="needs the extra `images`")
    for place, image in enumerate(PIXELS[4:]):
        pillow.fromarray(image[0]).save(tmp_path / f"{place}.png")
    files = load_dataset(tmp_path)
    found, rows = without_shared((files, range(6)), DATA, []) or (files, ())
    assert (len(found), list(rows)) == (4, [0, 1, 2, 3])
    assert found.fingerprint != files.fingerprint
    assert np.array_equal(found.input(0), PIXELS[6] / np.float32(255))
    monkeypatch.setattr("dsrs.adapting.adapting.MOST_IMAGES_COMPARED", 5)
    assert without_shared((files, range(6)), DATA, [])[0] is files  # type: ignore[index]
    assert "too many to compare" in caplog.text
