"""Warm-up, decay and the paper's settings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsrs.errors import InvalidInput
from dsrs.training import (
    DATA,
    RECIPES,
    Consistency,
    SmoothMix,
    TrainingSettings,
    one_cycle,
    ramp,
    recommended_settings,
    step_decay,
    warm_up_k,
    with_recipe,
)


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


def test_one_cycle_rises_over_a_quarter_of_the_run_and_falls_to_nothing() -> None:
    rates = [one_cycle(0.4, share) for share in (0.001, 0.125, 0.25, 0.625, 1.0)]
    assert rates == pytest.approx([0.008, 0.2, 0.4, 0.2, 0.0], abs=1e-12)


def test_ramp() -> None:
    assert [ramp(epoch, 10) for epoch in (1, 5, 10, 11)] == [0.1, 0.5, 1.0, 1.0]
    assert ramp(1, 0) == 1.0


def test_settings_of_the_paper() -> None:
    mnist = recommended_settings("mnist", "consistency", 0.5, 380)
    cifar = recommended_settings("cifar10", "consistency", 0.5, 1530)
    imagenet = recommended_settings("imagenet", "consistency", 0.5, 75_260)
    for settings in (mnist, cifar):
        assert (settings.epochs, settings.learning_rate) == (150, 0.01)
        assert (settings.decay_at, settings.decay_factor) == ((50, 100), 0.1)
        assert (settings.warm_up, settings.warm_up_unit) == (100, "epoch")
        assert settings.batch_size == 256
    assert (imagenet.epochs, imagenet.learning_rate) == (10, 0.001)
    assert (imagenet.warm_up, imagenet.warm_up_unit) == (10_000, "step")
    assert imagenet.decay_at == (1, 2, 3, 4, 5, 6, 7, 8, 9)
    assert [s.recipe.agreement_weight for s in (mnist, cifar, imagenet)] == [5, 20, 5]  # type: ignore[attr-defined]
    assert mnist.recipe == Consistency(agreement_weight=5.0, entropy_weight=0.5, noises=2)


@pytest.mark.parametrize(("sigma", "steps"), [(0.25, 2), (0.5, 4), (1.0, 8)])
def test_smoothmix_goes_further_for_larger_noise(sigma: float, steps: int) -> None:
    mnist = recommended_settings("mnist", "smoothmix", sigma, 380).recipe
    assert mnist == SmoothMix(mix_weight=5.0, steps=steps, step_size=1.0, noises=4, mix_step=1)
    cifar = recommended_settings("cifar10", "smoothmix", sigma, 1530).recipe
    assert cifar == SmoothMix(
        mix_weight=5.0, steps=4, step_size=2 * sigma, noises=2, mix_step=1, max_norm=None
    )


def test_smoothmix_on_imagenet_is_that_of_the_papers_authors() -> None:
    settings = recommended_settings("imagenet", "smoothmix", 0.5, 75_260)
    assert settings.recipe == SmoothMix(
        mix_weight=1.0, steps=1, step_size=8.0, noises=1, mix_step=0
    )
    assert (settings.learning_rate, settings.decay_at, settings.epochs) == (0.01, (), 10)
    assert (settings.warm_up, settings.warm_up_unit, settings.batch_size) == (200_000, "step", 48)


def test_smoothmix_has_a_schedule_of_its_own() -> None:
    mnist = recommended_settings("mnist", "smoothmix", 0.5, 380)
    assert (mnist.epochs, mnist.decay_at, mnist.warm_up) == (90, (30, 60), 70)
    cifar = recommended_settings("cifar10", "smoothmix", 0.5, 1530)
    assert (cifar.epochs, cifar.learning_rate, cifar.warm_up) == (150, 0.1, 110)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"noises": 0}, "`noises` must be at least 1, got 0"),
        ({"mix_weight": -1.0}, "`mix_weight` must be at least 0"),
        ({"step_size": float("nan")}, "`step_size` must be at least 0, got nan"),
        ({"max_norm": float("inf")}, "`max_norm` must be at least 0, got inf"),
        ({"mix_step": 4}, "`mix_step` must be below `steps` = 4, got 4"),
        (
            {"agreement_weight": 1.0},
            "smoothmix has no `agreement_weight`; its settings are",
        ),
        ({"name": "gaussian"}, "smoothmix has no `name`"),
    ],
)
def test_bad_settings_of_a_recipe_are_refused(changes: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        with_recipe(recommended_settings("mnist", "smoothmix", 0.5, 380), **changes)


def test_the_default_architectures_are_the_papers() -> None:
    names = [recommended_settings(data, "gaussian", 0.5, 0).architecture for data in DATA]
    assert names == ["mnist-cnn-large", "resnet-110", "torchvision.models:resnet50"]


@pytest.mark.parametrize(
    ("epochs", "decay_at"), [(1, ()), (2, (1,)), (3, (1, 2)), (150, (50, 100))]
)
def test_a_very_short_run_decays_once_an_epoch_and_not_before_it_starts(
    epochs: int, decay_at: tuple[int, ...]
) -> None:
    short = recommended_settings("mnist", "gaussian", 0.5, 380).in_epochs(epochs)
    assert short.decay_at == decay_at


def test_a_shorter_run_keeps_the_shares() -> None:
    short = recommended_settings("mnist", "gaussian", 0.5, 380).in_epochs(15)
    assert (short.epochs, short.decay_at, short.warm_up, short.ramp_epochs) == (15, (5, 10), 10, 1)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("data", DATA)
def test_settings_survive_saving(data: str, recipe: str) -> None:
    settings = recommended_settings(data, recipe, 0.25, 100, seed=3)
    assert TrainingSettings.from_dict(settings.to_dict()) == settings


def test_recipe_changes() -> None:
    settings = recommended_settings("mnist", "smoothmix", 0.5, 380)
    assert with_recipe(settings, noises=2).recipe == SmoothMix(steps=4, noises=2)
    assert with_recipe(settings, noises=2).images_a_step == 128


@pytest.mark.parametrize(
    "changes", [{"epochs": 0}, {"warm_up": -1}, {"learning_rate": float("nan")}, {"seed": -1}]
)
def test_bad_settings_are_refused(changes: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(changes))):
        recommended_settings("mnist", "gaussian", 0.5, 380, **changes)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InvalidInput, match="mnist, cifar10, imagenet"):
        recommended_settings("svhn", "gaussian", 0.5, 380)
    with pytest.raises(InvalidInput, match="gaussian, consistency, smoothmix, got"):
        recommended_settings("mnist", "macer", 0.5, 380)
