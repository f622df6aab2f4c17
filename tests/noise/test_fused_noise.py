"""The fused kernels make the sampler's noise, to the last bit; Triton interprets them here."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dsrs.laws import GeneralizedGaussian, Grid, Rescaled, Truncated, Weighted
from dsrs.noise import NoiseBlock, NoiseLaw, NoiseStream, Stream

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'dsrs[torch]'")
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are imported
triton = pytest.importorskip("triton", reason="Triton is not installed: pip install 'dsrs[gpu]'")
tl = triton.language
from dsrs.noise import fused, fused_kernels, noisy_batch  # noqa: E402

PLACE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
GRID = Grid.of_bounds((0.0, 1.0))


def laws(d: int) -> list[NoiseLaw]:
    general = GeneralizedGaussian(d, 0.5, d / 2 - 0.9)
    heavy = GeneralizedGaussian(d, 0.5, 0.0, 1.0)
    weighted = Weighted(general, (0.5 * general.m, 2.0 * general.m), (0.0, -1.0), 0.0, -1.0)
    gaussian = GeneralizedGaussian(d, 0.5)
    return [gaussian, Rescaled(gaussian, 0.3), general, heavy, Truncated(general, 0.7), weighted]


def sampled(law: NoiseLaw, first: int, count: int) -> tuple[NoiseBlock, NDArray[Any], NDArray[Any]]:
    """A block of noise, and what the sampler makes of it."""
    d = law.d if isinstance(law, GeneralizedGaussian) else law.base.d
    x = (np.arange(d) % 256 / 255).astype(np.float32)
    stream = NoiseStream(Stream("estimation", law), 3, 5, GRID)
    out, norms = np.empty((count, d), np.float32), np.empty(count)
    stream.add_to(x, first, out, norms)
    return stream.block(x, first, count), out, norms


def made(block: NoiseBlock, dtype: Any = None, channels: int = 1) -> tuple[Any, Any]:
    cells = torch.from_numpy(block.cells).to(PLACE)
    batch, norms = fused.fused_batch(block, cells, dtype or torch.float32, channels)
    return batch.cpu(), norms.cpu().numpy()


@pytest.mark.parametrize("d", [2, 3, 21, 64, 787, 3072])
def test_the_kernels_make_the_noise_of_the_sampler(d: int) -> None:
    for law in laws(d):
        block, out, norms = sampled(law, 256, 9)
        batch, lengths = made(block)
        np.testing.assert_array_equal(batch.numpy(), out)
        np.testing.assert_array_equal(lengths, norms)


def test_a_million_values_of_an_image_of_imagenet() -> None:
    block, out, norms = sampled(GeneralizedGaussian(150_528, 0.5), 2**32 - 2**16, 7)
    batch, lengths = made(block)
    np.testing.assert_array_equal(batch.numpy(), out)
    np.testing.assert_array_equal(lengths, norms)


def test_small_tiles_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiles of a device: several programs have a part in a row."""
    monkeypatch.setattr(fused, "TILE", 64)
    monkeypatch.setattr(fused, "ROWS", 4)
    for law in (GeneralizedGaussian(784, 0.5), GeneralizedGaussian(65, 0.5, 30.0)):
        block, out, norms = sampled(law, 0, 5)
        batch, lengths = made(block)
        np.testing.assert_array_equal(batch.numpy(), out)
        np.testing.assert_array_equal(lengths, norms)


@pytest.mark.parametrize("d", [12, 21])
def test_channels_last_is_another_order_of_the_same_values(d: int) -> None:
    block, out, _ = sampled(laws(d)[2], 0, 6)
    batch, _ = made(block, channels=3)
    expected = out.reshape(6, 3, d // 3).transpose(0, 2, 1).reshape(6, d)
    np.testing.assert_array_equal(batch.numpy(), expected)


def test_half_precision_is_the_rounded_float32() -> None:
    block, out, norms = sampled(GeneralizedGaussian(784, 0.5), 0, 16)
    batch, lengths = made(block, torch.bfloat16)
    assert torch.equal(batch, torch.from_numpy(out).bfloat16())
    np.testing.assert_array_equal(lengths, norms)


@triton.jit  # type: ignore[untyped-decorator]
def _rounded(values, out, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def,name-defined]
    at = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    value = tl.load(values + at)
    fused_kernels.store(out, at * 0, at, value, at >= 0, 1 << 30, 1, True)


def test_every_half_and_every_tie_is_rounded_as_pytorch_does() -> None:
    upper = np.arange(2**16, dtype=np.uint32) << 16
    bits = np.concatenate([upper | low for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)])
    values = bits.view(np.float32)
    values = np.where(np.isfinite(values), values, np.float32(0.0))
    numbers = torch.from_numpy(values.astype(np.float64)).to(PLACE)
    out = torch.empty(len(values), dtype=torch.int16, device=PLACE)
    _rounded[(len(values) // 2**14,)](numbers, out, WIDTH=2**14)
    assert torch.equal(out.cpu(), torch.from_numpy(values).bfloat16().view(torch.int16))


def traffic() -> ModuleType:
    """The counters of benchmarks/noise_on_device.py."""
    path = Path(__file__).parents[2] / "benchmarks" / "noise_on_device.py"
    spec = importlib.util.spec_from_file_location("noise_on_device", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(torch.cuda.is_available(), reason="traffic is counted by the interpreter")
@pytest.mark.parametrize(("d", "most"), [(3072, 7.5), (785, 9.0), (787, 16.0)])
def test_a_value_costs_few_bytes(d: int, most: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "TILE", fused.COMPILED_TILE[0])
    monkeypatch.setattr(fused, "ROWS", fused.COMPILED_TILE[1])
    counting = traffic()
    for k in (0.0, d / 2 - 4):
        block = counting.block_of(d, 16, k)
        with counting.interpreted_traffic() as seen:
            made(block)
        assert seen.kernels <= 4
        assert 4.0 <= seen.bytes / (16 * d) <= most


@pytest.mark.parametrize("capability", [80, pytest.param(89, marks=pytest.mark.slow, id="89")])
def test_the_kernels_compile_for_devices_without_fused_operations(capability: int) -> None:
    """For an A100 and an RTX 4090: only operations that IEEE 754 rounds, each for itself."""
    script = Path(__file__).with_name("ahead_of_time.py")
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, str(script), str(capability)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    operations = set(done.stdout.split())
    rounded = {f"{name}.rn.f64" for name in ("add", "sub", "mul", "div", "sqrt")}
    assert rounded <= operations
    assert operations <= rounded | {"neg.f64", "selp.f64", "setp.lt.f64", "mov.f64"}, operations


@pytest.mark.slow
def test_a_hundred_million_values_three_ways() -> None:
    """The sampler, the fused kernels and the eager operations."""
    for law in (
        GeneralizedGaussian(3072, 0.5),
        Truncated(GeneralizedGaussian(3072, 0.5, 1530), 0.7),
    ):
        for number in range(64):
            block, out, norms = sampled(law, 256 * number, 256)
            for batch, lengths in (
                made(block),
                noisy_batch(torch, block, torch.from_numpy(block.cells).to(PLACE)),
            ):
                np.testing.assert_array_equal(batch.cpu().numpy(), out)
                np.testing.assert_array_equal(np.asarray(lengths), norms)
