"""A device is trusted with noise only where its bits are the sampler's."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from dsrs.noise import on_device
from dsrs.noise.normals import NoiseBlock

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'dsrs[torch]'")
from dsrs.classifiers.torch_module import from_torch  # noqa: E402
from dsrs.noise.tensors import noisy_batch  # noqa: E402


@pytest.fixture(autouse=True)
def _unchecked() -> Iterator[None]:
    on_device.device_noise.cache_clear()
    yield
    on_device.device_noise.cache_clear()


def broken(block: NoiseBlock, cells: Any) -> tuple[Any, Any]:
    """Noise with one bit wrong in one value."""
    batch, norms = noisy_batch(torch, block, cells)
    batch.view(torch.int32)[3, 5] ^= 1
    return batch, norms


def failing(block: NoiseBlock, cells: Any) -> tuple[Any, Any]:
    raise RuntimeError("no driver\nin a long report")


def test_one_wrong_bit_is_seen() -> None:
    flaw = on_device.first_difference(broken, torch.device("cpu"))
    assert flaw is not None
    assert "differs from the processor's in 1 numbers (d = 21" in flaw
    assert on_device.first_difference(on_device._eager, torch.device("cpu")) is None


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
