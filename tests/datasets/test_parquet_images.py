"""Hugging Face image data sets: Parquet with the bytes of images, read when asked for."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("PIL")
pyarrow = pytest.importorskip("pyarrow")

from PIL import Image  # noqa: E402
from pyarrow import parquet  # noqa: E402

from dsrs.datasets import load_dataset  # noqa: E402
from dsrs.errors import DataError  # noqa: E402

PIXELS = np.random.default_rng(0).integers(0, 256, (5, 6, 6, 3), dtype=np.uint8)
LABELS = [2, 0, 1, 1, 2]


def png(pixels: NDArray[np.uint8]) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def written(path: Path, *, names: bool = True, **columns: Any) -> Path:
    """A file as the library `datasets` writes it, two rows in a group."""
    notes = {"info": {"features": {"label": {"names": ["cat", "dog", "bird"]}}}}
    table = pyarrow.table(columns)
    if names:
        table = table.replace_schema_metadata({"huggingface": json.dumps(notes)})
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, path, row_group_size=2)
    return path


def images(pixels: NDArray[np.uint8] = PIXELS) -> list[dict[str, Any]]:
    return [{"bytes": png(each), "path": None} for each in pixels]


def test_a_file(tmp_path: Path) -> None:
    data = load_dataset(written(tmp_path / "x.parquet", image=images(), label=LABELS))
    assert data.class_names == ("cat", "dog", "bird")
    assert data.labels is not None
    assert data.labels.tolist() == LABELS
    for index in (4, 0, 3):
        expected = PIXELS[index].transpose(2, 0, 1) / np.float32(255)
        np.testing.assert_array_equal(data.input(index), expected.astype(np.float32))


def test_bytes_alone_and_another_name(tmp_path: Path) -> None:
    contents = [png(each) for each in PIXELS[..., 0]]
    data = load_dataset(written(tmp_path / "x.parquet", names=False, img=contents))
    assert data.labels is None
    assert data.input_shape == (1, 6, 6)


def test_a_folder_of_shards_has_splits(tmp_path: Path) -> None:
    for part in range(2):
        name = f"data/test-0000{part}-of-00002.parquet"
        written(tmp_path / name, image=images(PIXELS[part : part + 1]), label=[part])
    written(tmp_path / "data/train-00000-of-00001.parquet", image=images(), label=LABELS)
    assert len(load_dataset(tmp_path)) == 2
    assert len(load_dataset(tmp_path, "train")) == 5
    assert load_dataset(tmp_path, size=4).input_shape == (3, 4, 4)
    assert load_dataset(tmp_path, size=4).fingerprint != load_dataset(tmp_path).fingerprint
    (tmp_path / "data/train-00000-of-00001.parquet").unlink()
    with pytest.raises(DataError, match="expected files of the split 'train'"):
        load_dataset(tmp_path, "train")


def test_hidden_labels_are_none(tmp_path: Path) -> None:
    data = load_dataset(written(tmp_path / "x.parquet", image=images(), label=[-1] * 5))
    assert data.labels is None


def test_what_is_wrong_with_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="expected a Parquet file"):
        load_dataset(path)
    with pytest.raises(DataError, match=r"expected a column image.*got text"):
        load_dataset(written(path, text=["a"]))
    with pytest.raises(DataError, match="expected the bytes of an image, got a path"):
        load_dataset(written(path, image=[{"bytes": None, "path": "cat.png"}] * 2 + images()))
    with pytest.raises(DataError, match="cannot be read as an image"):
        load_dataset(written(path, image=[{"bytes": b"no image", "path": None}]))
    mixed = images() + images(PIXELS[:1, :3, :3])
    with pytest.raises(DataError, match="give `size` to scale and crop"):
        load_dataset(written(path, image=mixed))


@pytest.mark.parametrize("stretch", [False, True])
def test_resampling_is_pillows(tmp_path: Path, stretch: bool) -> None:
    wide = PIXELS[0, :3]  # 3 x 6
    path = written(tmp_path / "x.parquet", image=[{"bytes": png(wide), "path": None}])
    data = load_dataset(path, size=4, resample="bicubic", stretch=stretch)
    sides = (4, 4) if stretch else (8, 4)
    scaled = Image.fromarray(wide).resize(sides, Image.Resampling.BICUBIC)
    expected = np.asarray(scaled if stretch else scaled.crop((2, 0, 6, 4)))
    np.testing.assert_array_equal(np.asarray(data.images[0]), expected.transpose(2, 0, 1))
    assert load_dataset(path, size=4).fingerprint != data.fingerprint
