"""Warm-up, decay and the paper's settings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsrs.errors import InvalidInput
from dsrs.training.hyperparameters import DATA, paper_settings, with_recipe
from dsrs.training.recipes import RECIPES, Consistency, SmoothMix
from dsrs.training.schedules import ramp, step_decay, warm_up_k
from dsrs.training.settings import TrainingSettings


@pytest.mark.parametrize(
    ("k0", "e", "e0", "expected"),
    [
        (400, 50, 100, 380),  # 400 - 400^(1/2) = 380
        (256, 25, 100, 192),  # 256 - 256^(3/4) = 256 - 64
        (256, 75, 100, 252),  # 256 - 256^(1/4) = 256 - 4
        (380, 100, 100, 379),  # 380 - 380^0
        (380, 101, 100, 380),  # after the warm-up
        (10, 1, 2, 7),  # 10 - 3.162 = 6.84, rounded up
        (380, 1, 0, 380),  # no warm-up
        (0, 3, 100, 0),  # the Gaussian has nothing to warm up
    ],
)
def test_warm_up_of_k(k0: float, e: int, e0: int, expected: float) -> None:
    assert warm_up_k(k0, e, e0) == expected


@given(k0=st.floats(0, 80_000), e0=st.integers(1, 200))
def test_k_rises_and_stays_a_valid_exponent(k0: float, e0: int) -> None:
    ks = [warm_up_k(k0, e, e0) for e in range(1, e0 + 2)]
    assert ks == sorted(ks)
    assert ks[0] >= 0
    assert ks[-1] == k0


def test_warm_up_counts_from_one() -> None:
    with pytest.raises(InvalidInput, match="from `e` = 1"):
        warm_up_k(380, 0, 100)


def test_learning_rate_falls_after_the_named_epochs() -> None:
    rates = [step_decay(0.01, epoch, (50, 100), 0.1) for epoch in (1, 50, 51, 100, 101, 150)]
    assert rates == pytest.approx([0.01, 0.01, 0.001, 0.001, 0.0001, 0.0001])


def test_ramp() -> None:
    assert [ramp(epoch, 10) for epoch in (1, 5, 10, 11)] == [0.1, 0.5, 1.0, 1.0]
    assert ramp(1, 0) == 1.0


def test_settings_of_the_paper() -> None:
    mnist = paper_settings("mnist", "consistency", 0.5, 380)
    cifar = paper_settings("cifar10", "consistency", 0.5, 1530)
    imagenet = paper_settings("imagenet", "consistency", 0.5, 75_260)
    for settings in (mnist, cifar):
        assert (settings.epochs, settings.learning_rate) == (150, 0.01)
        assert (settings.decay_at, settings.decay_factor) == ((50, 100), 0.1)
        assert (settings.warm_up, settings.warm_up_unit) == (100, "epoch")
        assert settings.batch_size == 256
    assert (imagenet.epochs, imagenet.learning_rate) == (10, 0.001)
    assert (imagenet.warm_up, imagenet.warm_up_unit) == (10_000, "step")
    assert imagenet.decay_at == (1, 2, 3, 4, 5, 6, 7, 8, 9)
    assert [s.recipe.lbd for s in (mnist, cifar, imagenet)] == [5, 20, 5]  # type: ignore[attr-defined]
    assert mnist.recipe == Consistency(lbd=5.0, eta=0.5, noises=2)


@pytest.mark.parametrize(("sigma", "steps"), [(0.25, 2), (0.5, 4), (1.0, 8)])
def test_smoothmix_goes_further_for_larger_noise(sigma: float, steps: int) -> None:
    assert paper_settings("mnist", "smoothmix", sigma, 380).recipe == SmoothMix(5.0, steps, 1.0, 4)
    cifar = paper_settings("cifar10", "smoothmix", sigma, 1530).recipe
    assert cifar == SmoothMix(eta=5.0, steps=4, step_size=2 * sigma, noises=2)


def test_the_default_architectures_are_the_papers() -> None:
    names = [paper_settings(data, "gaussian", 0.5, 0).architecture for data in DATA]
    assert names == ["mnist-cnn-large", "resnet-110", "torchvision.models:resnet50"]


@pytest.mark.parametrize(
    ("epochs", "decay_at"), [(1, ()), (2, (1,)), (3, (1, 2)), (150, (50, 100))]
)
def test_a_very_short_run_decays_once_an_epoch_and_not_before_it_starts(
    epochs: int, decay_at: tuple[int, ...]
) -> None:
    short = paper_settings("mnist", "gaussian", 0.5, 380).in_epochs(epochs)
    assert short.decay_at == decay_at


def test_a_shorter_run_keeps_the_shares() -> None:
    short = paper_settings("mnist", "gaussian", 0.5, 380).in_epochs(15)
    assert (short.epochs, short.decay_at, short.warm_up, short.ramp_epochs) == (15, (5, 10), 10, 1)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("data", DATA)
def test_settings_survive_saving(data: str, recipe: str) -> None:
    settings = paper_settings(data, recipe, 0.25, 100, seed=3)
    assert TrainingSettings.from_dict(settings.to_dict()) == settings


def test_recipe_changes() -> None:
    settings = paper_settings("mnist", "smoothmix", 0.5, 380)
    assert with_recipe(settings, noises=2).recipe == SmoothMix(5.0, 4, 1.0, 2)
    assert with_recipe(settings, noises=2).images_a_step == 128


@pytest.mark.parametrize(
    "changes", [{"epochs": 0}, {"warm_up": -1}, {"learning_rate": float("nan")}, {"seed": -1}]
)
def test_bad_settings_are_refused(changes: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(changes))):
        paper_settings("mnist", "gaussian", 0.5, 380, **changes)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InvalidInput, match="mnist, cifar10, imagenet"):
        paper_settings("svhn", "gaussian", 0.5, 380)
    with pytest.raises(InvalidInput, match="gaussian, consistency, smoothmix"):
        paper_settings("mnist", "macer", 0.5, 380)
