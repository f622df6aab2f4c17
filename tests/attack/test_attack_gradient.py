"""The gradient of a smoothed probability, from votes and by back-propagation."""

from __future__ import annotations

from dataclasses import replace
from threading import Event

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, special

from dsrs.attack import Aim, AttackSettings, Bands, FromBackPropagation, FromVotes, attack_input
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.proofs import Certificate, Dual, Interval
from dsrs.votes import Setting
from known_classifiers import Linear

D, SIGMA, MARGIN = 12, 0.5, 0.4


def aim(law: GeneralizedGaussian, claim: str = "majority") -> Aim:
    setting = Setting(seed=0, batch=256)
    zero = np.zeros(law.d, np.float32)
    return Aim(Linear(law.d, MARGIN), zero, law, setting, 0, 1, claim)  # type: ignore[arg-type]


def density_of_first(law: GeneralizedGaussian, at: float) -> float:
    """The density of the first coordinate of the noise: what P_A of a half-space falls by."""
    half = (law.d - 1) / 2

    def shell(norm: float) -> float:
        # (1 + cosine) / 2 is Beta(half, half), and the first coordinate is cosine times norm.
        share = (1 + at / norm) / 2
        beta = (share * (1 - share)) ** (half - 1) / special.beta(half, half)
        return float(law.radial_pdf(norm) * beta / (2 * norm))

    return float(integrate.quad(shell, at, float(law.radial_quantile(1 - 1e-12)), limit=400)[0])


@pytest.mark.parametrize(
    ("k", "eta"), [(0.0, 2.0), (4.0, 2.0), (0.0, 1.0), (3.0, 4.0)], ids=lambda value: f"{value:g}"
)
def test_votes_give_the_gradient(k: float, eta: float) -> None:
    law = GeneralizedGaussian(D, SIGMA, k, eta)
    votes = 65_536
    reading = FromVotes(aim(law), Event()).read(np.zeros(D), votes)
    expected = np.zeros(D)
    expected[0] = density_of_first(law, MARGIN)
    error = float(np.abs(reading.fall - expected).max())
    # Of 12 coordinates none is off by five standard errors.
    assert error < 5 * np.sqrt(reading.variance)
    assert np.sqrt(reading.variance) < 0.05 * expected[0]


def test_scores_without_variance_still_point_downhill() -> None:
    """d - 2k = 0.6: the plain score has no variance, and a few votes would decide the direction."""
    reading = FromVotes(aim(GeneralizedGaussian(D, SIGMA, 5.7)), Event()).read(np.zeros(D), 32_768)
    assert reading.fall[0] / np.linalg.norm(reading.fall) > 0.95


def test_wider_noise_is_read_as_such() -> None:
    law = GeneralizedGaussian(D, SIGMA)
    reading = FromVotes(aim(law), Event()).read(np.zeros(D), 65_536, widen=2.0)
    assert reading.share == pytest.approx(special.ndtr(MARGIN / (2 * SIGMA)), abs=0.01)
    wide = GeneralizedGaussian(D, 2 * SIGMA)
    assert reading.fall[0] == pytest.approx(density_of_first(wide, MARGIN), rel=0.05)


def test_the_rate_along_the_perturbation_is_the_slope() -> None:
    law = GeneralizedGaussian(D, SIGMA)
    moved = np.zeros(D)
    moved[0] = 0.2
    reading = FromVotes(aim(law), Event()).read(moved, 65_536)
    assert reading.share == pytest.approx(special.ndtr((MARGIN - 0.2) / SIGMA), abs=0.01)
    assert reading.rate == pytest.approx(density_of_first(law, MARGIN - 0.2), rel=0.05)


def test_back_propagation_replaces_the_direction_alone() -> None:
    def gradient(batch: NDArray[np.float32], scores: NDArray[np.float64]) -> NDArray[np.float32]:
        found = np.zeros_like(batch)
        found[:, 1] = -scores[1]
        return found

    one = aim(GeneralizedGaussian(D, SIGMA))
    compass = FromBackPropagation(one, Event(), gradient)
    moved = np.zeros(D)
    moved[0] = 0.2
    reading = compass.read(moved, 4096)
    assert np.array_equal(reading.fall, np.eye(D)[1])
    assert reading.rate > 0.5  # from the votes, whose class falls along the first coordinate
    assert compass.spent == 3 * 4096


def test_bands_keep_what_is_smooth() -> None:
    """A smooth direction under white noise comes out closer to the truth, and others unharmed."""
    generator = np.random.default_rng(0)
    rows, columns = np.mgrid[0:28, 0:28] / 28
    smooth = np.sin(3 * rows) * np.cos(2 * columns)
    smooth /= np.linalg.norm(smooth)
    noisy = smooth.ravel() + 0.05 * generator.standard_normal(784)
    shrunk = Bands((1, 28, 28)).shrunk(noisy, 0.05**2)

    def cosine(found: NDArray[np.float64]) -> float:
        return float(found @ smooth.ravel() / np.linalg.norm(found))

    assert cosine(noisy) < 0.65 < 0.9 < cosine(shrunk)
    assert np.array_equal(Bands((784,)).shrunk(noisy, 0.05**2), noisy)


def test_a_module_back_propagates_its_softmax() -> None:
    torch = pytest.importorskip("torch")
    from dsrs.classifiers import from_torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 3)).eval()
    model = from_torch(net, (3, 2, 2), engine="eager")
    assert model.score_gradient is not None
    batch = np.random.default_rng(0).random((5, 3, 2, 2), dtype=np.float32)
    scores = np.array([1.0, 0.0, 0.5])
    found = model.score_gradient(batch, scores)
    weights = net[1].weight.detach().numpy().astype(np.float64)
    logits = batch.reshape(5, 12) @ weights.T + net[1].bias.detach().numpy()
    shares = special.softmax(logits, axis=1)
    # d(sum_c s_c p_c) = sum_c p_c (s_c - mean score) w_c
    expected = (shares * (scores - (shares @ scores)[:, None])) @ weights
    assert np.allclose(found.reshape(5, 12), expected, atol=1e-6)


def test_a_module_that_makes_its_noise_is_read_like_any_other() -> None:
    torch = pytest.importorskip("torch")
    from dsrs.classifiers import from_torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 3)).eval()
    law = GeneralizedGaussian(12, SIGMA)
    setting, x = Setting(0, 64, Grid(1 / 4080)), np.full((3, 2, 2), 0.5, np.float32)
    readings = []
    for beside in (False, True):
        model = from_torch(net, (3, 2, 2), device="cpu:0" if beside else "cpu", engine="eager")
        assert model.makes_noise == beside
        here = Aim(model, x, law, setting, 0, 1, "majority")
        readings.append(FromVotes(here, Event()).read(np.zeros(12), 1024))
    assert readings[0].counts == readings[1].counts
    np.testing.assert_array_equal(readings[0].fall, readings[1].fall)


def test_an_onnx_model_is_attacked_along_its_gradients() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    from dsrs.classifiers import exported_to_onnx, from_onnx

    # In so many dimensions so few votes alone find a direction that is far off.
    d, budget = 2048, 32_768
    layer = torch.nn.Linear(d, 2)
    with torch.no_grad():
        normal = torch.randn(d, generator=torch.Generator().manual_seed(0))
        layer.weight[1], layer.weight[0] = 4 * normal / normal.norm(), 0.0
        layer.bias[1], layer.bias[0] = 4 * MARGIN, 0.0
    content = exported_to_onnx(layer.eval(), (d,), (0.0, 1.0), "line")
    law, x = GeneralizedGaussian(d, SIGMA), np.zeros(d, np.float32)
    model = from_onnx(content)
    certificate = Certificate(law, "certified", 0.01, 0.01, Dual(Interval(0.6, 1)))
    settings = AttackSettings(budget=budget)
    found = attack_input(model, x, 1, certificate, settings)
    votes_alone = replace(model, later_gradient=None)
    blind = attack_input(votes_alone, x, 1, certificate, settings)
    assert found.counterexample is not None
    assert found.counterexample.source == "back-propagation"
    assert found.attacked is not None
    assert blind.attacked is not None
    assert MARGIN < found.attacked < 1.08 * MARGIN < 1.15 * MARGIN < blind.attacked
