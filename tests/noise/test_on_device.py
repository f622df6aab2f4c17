"""A device is trusted with noise only where its bits are the sampler's."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.noise import NoiseBlock, NoiseStream, Stored, Stream, on_device

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'dsrs[torch]'")
from dsrs.classifiers import from_torch  # noqa: E402

GRID = Grid.of_bounds((0.0, 1.0))
EAGER = on_device._eager


@pytest.fixture(autouse=True)
def _unchecked() -> Iterator[None]:
    on_device.device_noise.cache_clear()
    yield
    on_device.device_noise.cache_clear()


def broken(block: NoiseBlock, cells: Any, stored: Stored) -> tuple[Any, Any]:
    """Noise with one bit wrong in one value."""
    batch, norms = EAGER(block, cells, stored)
    batch.view(torch.int16 if stored.half_precision else torch.int32)[3, 5] ^= 1
    return batch, norms


def broken_in_half_precision(block: NoiseBlock, cells: Any, stored: Stored) -> tuple[Any, Any]:
    """Noise that is cut to bfloat16 instead of rounded."""
    batch, norms = EAGER(block, cells, Stored(channels=stored.channels))
    if not stored.half_precision:
        return batch, norms
    return (batch.view(torch.int32) & -65536).view(torch.float32).bfloat16(), norms


def failing(block: NoiseBlock, cells: Any, stored: Stored) -> tuple[Any, Any]:
    raise RuntimeError("no driver\nin a long report")


def test_one_wrong_bit_is_seen() -> None:
    flaw = on_device.first_difference(broken, torch.device("cpu"))
    assert flaw is not None
    assert "differs from the processor's in 1 numbers (d = 21" in flaw
    assert on_device.first_difference(on_device._eager, torch.device("cpu")) is None


def test_wrong_rounding_to_bfloat16_is_seen() -> None:
    flaw = on_device.first_difference(broken_in_half_precision, torch.device("cpu"))
    assert flaw is not None
    assert "(d = 21" in flaw


@pytest.mark.parametrize("shape", [(3, 6, 5), (90,)])
def test_a_model_in_bfloat16_is_given_what_it_would_round_itself(shape: tuple[int, ...]) -> None:
    """Batches stored in bfloat16 and channels last are the float32 ones, converted."""
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(90, 3)).eval()
    model = from_torch(module, shape, device="cpu:0", precision="bfloat16")
    x = np.random.default_rng(0).random(shape, dtype=np.float32)
    stream = NoiseStream(Stream("estimation", GeneralizedGaussian(90, 0.5)), 1, 0, GRID)
    expected, norms = np.empty((7, 90), np.float32), np.empty(7)
    stream.add_to(x.ravel(), 0, expected, norms)
    assert model.noisy is not None
    made = model.noisy(stream.block(x.ravel(), 0, 7), ())
    assert made.batch.dtype == torch.bfloat16
    assert torch.equal(made.batch, torch.from_numpy(expected).bfloat16().reshape(7, *shape))
    assert len(shape) == 1 or made.batch.is_contiguous(memory_format=torch.channels_last)
    units = ((np.full(shape, 0.5, np.float32), np.full(shape, 0.25, np.float32)),)
    scaled = model.noisy(stream.block(x.ravel(), 0, 7), units).batch
    assert scaled.dtype == torch.float32


def on_cuda(
    monkeypatch: pytest.MonkeyPatch, fused: on_device.Maker, eager: on_device.Maker
) -> None:
    """Let `cuda` be a name of the CPU, with these ways to make noise there."""
    monkeypatch.setattr(on_device, "_fused", fused)
    monkeypatch.setattr(on_device, "_eager", eager)
    device = torch.device
    monkeypatch.setattr(torch, "device", lambda name: device(str(name).replace("cuda", "cpu")))


def test_what_fails_gives_way_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    on_cuda(monkeypatch, failing, on_device._eager)
    noise = on_device.device_noise("cuda")
    assert noise.way == "eager"
    if importlib.util.find_spec("triton") is not None:
        assert noise.notes == ("fused noise on cuda failed (RuntimeError: no driver)",)


def test_without_a_sound_way_the_processor_makes_the_noise(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    on_cuda(monkeypatch, failing, broken)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 3)).eval()
    with caplog.at_level(logging.WARNING, "dsrs.counting"):
        model = from_torch(module, (4, 4), device="cpu:0")
    assert not model.makes_noise
    assert "the processor makes the noise: " in caplog.text
    assert "differs from the processor's" in caplog.text


def test_mps_is_given_noise() -> None:
    assert on_device.device_noise("mps").way == "host"
