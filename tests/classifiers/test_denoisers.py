"""Denoisers: one function in three forms, row by row, a part of what the model is."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import fft

from dsrs.classifiers import (
    DENOISERS,
    CallableClassifier,
    Chain,
    Clip,
    Denoiser,
    Normalisation,
    denoised,
    denoiser_from,
    from_callable,
    from_onnx,
    from_torch,
    load_classifier,
    normalised,
)
from dsrs.classifiers.dct_blocks import MILD_SHARE, SHRINKAGE
from dsrs.errors import ClassifierError, InvalidInput
from oracle.block_cosine import denoised_by_blocks, noise_size

torch = pytest.importorskip("torch", reason="needs the extra `torch`")
onnx = pytest.importorskip("onnx", reason="needs the extra `onnx`")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")

UNIT = (0.0, 1.0)
SHAPES = [(1, 28, 28), (3, 32, 32), (3, 13, 22)]


def smooth_images(rows: int, shape: tuple[int, ...], seed: int = 0) -> NDArray[np.float32]:
    """Images of a few low frequencies, in [0.2, 0.8]."""
    rng = np.random.default_rng(seed)
    waves = np.zeros((rows, *shape))
    waves[:, :, :3, :3] = rng.normal(size=(rows, shape[0], 3, 3))
    images = fft.idctn(waves, axes=(2, 3), norm="ortho")
    spread = np.abs(images).max(axis=(1, 2, 3), keepdims=True)
    return np.asarray(0.5 + 0.3 * images / spread, dtype=np.float32)


def noisy(images: NDArray[np.float32], sigma: float, seed: int = 1) -> NDArray[np.float32]:
    noise = np.random.default_rng(seed).standard_normal(images.shape, dtype=np.float32)
    return images + np.float32(sigma) * noise


def in_runtime(denoiser: Denoiser, batch: NDArray[np.float32]) -> NDArray[np.float32]:
    session = onnxruntime.InferenceSession(denoiser.graph().SerializeToString())
    answer: NDArray[np.float32] = session.run(None, {session.get_inputs()[0].name: batch})[0]
    return answer


def every_kind(shape: tuple[int, ...]) -> list[Denoiser]:
    scales = np.linspace(0.5, 1.5, shape[0], dtype=np.float32)[:, None, None]
    kinds = [denoiser_from(name, shape, UNIT) for name in DENOISERS]
    return [*kinds, Chain([kinds[0], Normalisation(shape, 1 - scales, scales)])]


@pytest.mark.parametrize("shape", SHAPES)
def test_numpy_pytorch_and_onnx_agree(shape: tuple[int, ...]) -> None:
    batch = noisy(smooth_images(5, shape), 0.4)
    for denoiser in every_kind(shape):
        expected = denoiser.rows(batch)
        module = denoiser.module()
        assert module is not None
        with torch.no_grad():
            tensors = module(torch.from_numpy(batch)).numpy()
        # float32 sums in other orders
        assert np.abs(tensors - expected).max() < 1e-5
        assert np.abs(in_runtime(denoiser, batch) - expected).max() < 1e-5
        assert expected.dtype == np.float32


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("name", "share"), [("dct", 1.0), ("dct-mild", MILD_SHARE)])
def test_dct_is_what_its_docstring_says(shape: tuple[int, ...], name: str, share: float) -> None:
    batch = noisy(smooth_images(2, shape), 0.3)
    found = denoiser_from(name, shape, UNIT).rows(batch)
    for image, answer in zip(batch, found, strict=True):
        expected = denoised_by_blocks(image.astype(np.float64), SHRINKAGE, share)
        assert np.abs(answer - expected).max() < 1e-5  # float32


@pytest.mark.parametrize("shape", SHAPES)
def test_a_row_does_not_depend_on_other_rows(shape: tuple[int, ...]) -> None:
    batch = noisy(smooth_images(6, shape), 0.3)
    batch[3:] *= 7  # other noise sizes beside them
    for denoiser in every_kind(shape):
        together = denoiser.rows(batch)
        alone = np.concatenate([denoiser.rows(row[None]) for row in batch])
        assert np.abs(together - alone).max() < 1e-5
        turned = in_runtime(denoiser, batch[::-1].copy())[::-1]
        assert np.abs(together - turned).max() < 1e-5


@pytest.mark.parametrize("sigma", [0.05, 0.25, 1.0])
def test_dct_finds_the_size_of_the_noise_by_itself(sigma: float) -> None:
    clean = smooth_images(20, (3, 32, 32))
    batch = noisy(clean, sigma)
    # without the clipping at the end, which helps at large sigma
    denoiser = denoiser_from("dct", (3, 32, 32), (-50.0, 50.0))
    error = np.sqrt(np.mean((denoiser.rows(batch) - clean) ** 2))
    assert error < 0.35 * sigma
    blocks = np.random.default_rng(0).normal(scale=sigma, size=(500, 8, 8))
    assert noise_size(blocks) == pytest.approx(sigma, rel=0.03)  # 7,500 values: 1.4 % deviation


def test_dct_leaves_a_clean_smooth_image_nearly_alone() -> None:
    clean = smooth_images(8, (1, 28, 28))
    assert np.abs(denoiser_from("dct", (1, 28, 28), UNIT).rows(clean) - clean).max() < 0.02


SMALL = (1, 16, 16)


@cache
def small_network(engine: str) -> CallableClassifier:
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, stride=2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(4 * 49, 4),
    )
    return from_torch(module.eval(), SMALL, engine=engine)  # type: ignore[arg-type]


def written(folder: Path) -> Path:
    """The small network as a file."""
    graph = small_network("onnx").graph
    assert graph is not None
    path = folder / "net.onnx"
    path.write_bytes(graph())
    return path


@pytest.mark.parametrize("name", ["clip", "dct"])
@pytest.mark.parametrize("engine", ["onnx", "eager"])
def test_a_module_behind_a_denoiser(name: str, engine: str) -> None:
    plain = small_network(engine)
    denoiser = denoiser_from(name, SMALL, UNIT)
    whole = denoised(plain, denoiser)
    batch = noisy(smooth_images(9, SMALL), 0.8)
    assert np.abs(whole.forward(batch) - plain.forward(denoiser.rows(batch))).max() < 1e-4
    assert name in whole.description
    assert whole.fingerprint == f"{plain.fingerprint} {denoiser.fingerprint}"
    assert whole.score_gradient is not None
    scores = np.array([1.0, 0.0, 0.0, 0.0])
    slope = whole.score_gradient(batch, scores)
    # Against a difference quotient of the whole, in one direction.
    step = np.float32(1e-2) * np.random.default_rng(3).standard_normal(batch.shape).astype("f4")

    def mean_score(rows: NDArray[np.float32]) -> NDArray[np.float64]:
        powers = np.exp(whole.forward(rows).astype(np.float64))
        return np.asarray((powers / powers.sum(axis=1, keepdims=True)) @ scores)

    rise = mean_score(batch + step) - mean_score(batch - step)
    predicted = 2 * (slope * step).sum(axis=(1, 2, 3))
    assert np.corrcoef(rise, predicted)[0, 1] > 0.98  # kinks of clipping and shrinkage remain


def test_an_onnx_model_gets_the_denoiser_into_its_graph(tmp_path: Path) -> None:
    path = written(tmp_path)
    plain = load_classifier(path)
    whole = load_classifier(path, denoise="dct")
    batch = noisy(smooth_images(9, SMALL), 0.3)
    one_file = from_onnx(whole.graph())  # type: ignore[attr-defined]
    cleaned = denoiser_from("dct", SMALL, UNIT).rows(batch)
    assert one_file.classify(batch).tolist() == plain.classify(cleaned).tolist()
    assert whole.fingerprint == f"{plain.fingerprint} dct-1:0,1"


def test_a_denoiser_in_front_of_a_normalised_model() -> None:
    made = small_network("onnx")
    front = normalised(made, (0.4,), (0.2,), UNIT)
    whole = denoised(front, denoiser_from("clip", SMALL, UNIT))
    batch = noisy(smooth_images(9, SMALL), 0.8)
    cleaned = np.asarray((np.clip(batch, 0, 1) - 0.4) / 0.2, dtype=np.float32)
    expected = made.forward(cleaned)
    assert np.abs(whole.forward(batch) - expected).max() < 1e-4
    assert front.graph is not None
    assert whole.graph is not None
    assert np.abs(from_onnx(front.graph()).forward(np.clip(batch, 0, 1)) - expected).max() < 1e-4
    assert np.abs(from_onnx(whole.graph()).forward(batch) - expected).max() < 1e-4
    assert whole.bounds == UNIT


def test_any_function_gets_it_in_numpy() -> None:
    def sums(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        flat = batch.reshape(len(batch), -1)
        return np.stack([flat.max(axis=1), np.ones(len(batch), np.float32)], axis=1)

    plain = from_callable(sums, (4,), name="largest")
    whole = denoised(plain, Clip((4,), UNIT))
    batch = np.array([[9, 0, 0, 0], [0.5, 0, 0, 0]], np.float32)
    assert plain.classify(batch).tolist() == [0, 1]
    assert whole.forward(batch)[0].tolist() == [1, 1]
    assert whole.fingerprint != plain.fingerprint


def test_a_file_is_a_denoiser_if_it_keeps_the_shape(tmp_path: Path) -> None:
    path = tmp_path / "half.onnx"
    onnx.save(Normalisation(SMALL, np.zeros(1, "f4"), np.full(1, 2, "f4")).graph(), path)
    made = small_network("onnx")
    half = denoiser_from(path, SMALL, UNIT)
    batch = smooth_images(5, SMALL)
    assert np.abs(half.rows(batch) - batch / 2).max() < 1e-6
    whole = denoised(made, half)
    assert np.abs(whole.forward(batch) - made.forward(half.rows(batch))).max() < 1e-4
    assert whole.score_gradient is None  # not before it is asked for
    assert whole.gradient() is not None  # through the graph of both
    with pytest.raises(ClassifierError, match="must return float32 of the shape of its input"):
        denoiser_from(written(tmp_path), SMALL, UNIT)


def test_names_that_are_no_denoisers() -> None:
    with pytest.raises(
        InvalidInput, match=r"one of clip, dct, dct-mild or a file that ends in \.onnx"
    ):
        denoiser_from("wavelets", (1, 28, 28), UNIT)
    with pytest.raises(InvalidInput, match="at least 8x8 pixels"):
        denoiser_from("dct", (784,), UNIT)
    with pytest.raises(ClassifierError, match="there is no model file"):
        denoiser_from("nowhere.onnx", (1, 28, 28), UNIT)
