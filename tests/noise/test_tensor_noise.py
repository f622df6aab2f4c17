"""Noise in tensor operations: the sampler's, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from dsrs.certifying import sample_input
from dsrs.classifiers import from_torch, normalised
from dsrs.errors import InvalidInput
from dsrs.laws import GeneralizedGaussian, Grid, Truncated
from dsrs.methods import Plan
from dsrs.noise import NoiseLaw, NoiseStream, Stream

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'dsrs[torch]'")
from dsrs.noise import noisy_batch, rounded_square_root  # noqa: E402

GRID = Grid.of_bounds((0.0, 1.0))


def laws(d: int) -> list[NoiseLaw]:
    general = GeneralizedGaussian(d, 0.5, d / 2 - 0.9)
    return [GeneralizedGaussian(d, 0.5), general, Truncated(general, 0.7)]


@pytest.mark.parametrize("d", [2, 3, 21, 64, 784])
def test_tensors_hold_the_noise_of_the_kernels(d: int) -> None:
    x = (np.arange(d) % 256 / 255).astype(np.float32)
    for law in laws(d):
        stream = NoiseStream(Stream("estimation", law), 3, 5, GRID)
        out, norms = np.empty((512, d), np.float32), np.empty(512)
        stream.add_to(x, 256, out, norms)
        # Also from the middle of a block of norms.
        for first, count in ((256, 512), (300, 40), (511, 2)):
            block = stream.block(x, first, count)
            batch, lengths = noisy_batch(torch, block, torch.from_numpy(block.cells))
            rows = slice(first - 256, first - 256 + count)
            np.testing.assert_array_equal(batch.numpy(), out[rows])
            np.testing.assert_array_equal(lengths.numpy(), norms[rows])


def test_large_rows_are_made_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:

    x = np.zeros(64, np.float32)
    block = NoiseStream(Stream("estimation", laws(64)[1]), 3, 5, GRID).block(x, 0, 100)
    cells = torch.from_numpy(block.cells)
    whole = noisy_batch(torch, block, cells)
    monkeypatch.setattr("dsrs.noise.on_device.VALUES_AT_ONCE", 7 * 64)
    for part, all_of_it in zip(noisy_batch(torch, block, cells), whole, strict=True):
        assert torch.equal(part, all_of_it)


def test_square_roots_are_rounded_correctly() -> None:
    """NumPy's are the processor's; PyTorch's own differ in the last bit now and then."""
    generator = np.random.default_rng(0)
    for values in (generator.random(200_000) * 90, np.exp(-generator.random(200_000) * 40)):
        found = rounded_square_root(torch, torch.from_numpy(values)).numpy()
        np.testing.assert_array_equal(found, np.sqrt(values))


PLACES = ("cpu", "cpu:0")  # the second one makes its own noise


class Small(torch.nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3)
        )

    def forward(self, batch: object) -> object:
        return self.layers(batch)


@pytest.mark.parametrize("k", [0.0, 20.0])
def test_votes_do_not_depend_on_where_the_noise_is_made(k: float) -> None:
    plan = Plan(GeneralizedGaussian(64, 0.5, k), ("np", "tailored"), n=700, batch=32, grid=GRID)
    x = np.random.default_rng(1).random((8, 8), dtype=np.float32)
    found = []
    for beside in (False, True):
        model = from_torch(
            Small().eval(), (8, 8), device="cpu:0" if beside else "cpu", engine="eager"
        )
        assert model.makes_noise == beside
        found.append(sample_input(model, x, plan, 0, 1).votes)
    assert found[0] == found[1]


def test_normalised_inputs_keep_noise_and_gradients_where_the_module_is() -> None:
    """Also of a model that is normalised twice, whose order matters."""
    plan = Plan(GeneralizedGaussian(64, 0.5), ("np",), n=700, batch=32, grid=GRID)
    x = np.random.default_rng(1).random((8, 8), dtype=np.float32)
    found, gradients = [], []
    scores = np.array([0.0, 1.0, 0.0])
    for beside in (False, True):
        inner = from_torch(
            Small().eval(), (8, 8), device="cpu:0" if beside else "cpu", engine="eager"
        )
        once = normalised(inner, (0.4,), (0.3,), (0.0, 1.0))
        model = normalised(once, (0.1,), (2.0,), (0.0, 1.0))
        assert model.makes_noise == beside
        found.append(sample_input(model, x, plan, 0, 1).votes)
        assert model.score_gradient is not None
        gradients.append(model.score_gradient(x[None], scores))
    assert found[0] == found[1]
    plain = sample_input(inner, x, plan, 0, 1).votes
    assert plain != found[0]
    module = Small().eval()
    rows = torch.from_numpy(x[None]).requires_grad_(True)
    torch.softmax(module(((rows - 0.1) / 2.0 - 0.4) / 0.3), dim=1)[0, 1].backward()
    np.testing.assert_allclose(gradients[0], rows.grad.numpy(), rtol=1e-4, atol=1e-7)


def test_on_the_cpu_the_kernels_make_the_noise() -> None:
    model = from_torch(Small().eval(), (8, 8), engine="eager")
    assert not model.makes_noise
    block = NoiseStream(Stream("estimation", laws(64)[0]), 0, 0, GRID).block(
        np.zeros(64, np.float32), 0, 1
    )
    with pytest.raises(InvalidInput, match="makes no noise"):
        model.classify_noisy(block)
    with pytest.raises(InvalidInput, match="on a grid only"):
        NoiseStream(Stream("estimation", laws(64)[0]), 0, 0).block(np.zeros(64, np.float32), 0, 1)


def test_without_a_grid_the_kernels_make_the_noise() -> None:
    model = from_torch(Small().eval(), (8, 8), device="cpu:0")
    plan = Plan(GeneralizedGaussian(64, 0.5), ("np",), n=200, batch=32)
    x = np.zeros((8, 8), np.float32)
    eager = from_torch(Small().eval(), (8, 8), engine="eager")
    assert sample_input(model, x, plan, 0, 1).votes == sample_input(eager, x, plan, 0, 1).votes
