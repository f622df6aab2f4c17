"""The expected radius of an input under `tailored`, against Neyman-Pearson with as many votes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dsrs.landscape import Profile
from dsrs.laws import GeneralizedGaussian
from landscape.known_profiles import constant, exact_profile, half_space

WIDE = GeneralizedGaussian(784, 1.0, 380)
CURVES = {f"half space at {distance}": half_space(784, distance) for distance in (0.5, 1.5)}
CURVES |= {f"right with {right}": constant(right) for right in (0.65, 0.9, 1.0)}
# The mean over so many pilots has a standard error of some 0.2%.
PILOTS, LEAST = 24, -0.012


@pytest.fixture(scope="module")
def measured() -> ModuleType:
    """`benchmarks/tailored.py`, whose measure this is."""
    path = Path(__file__).parents[2] / "benchmarks" / "tailored.py"
    spec = importlib.util.spec_from_file_location("measured_tailored", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for it
    spec.loader.exec_module(module)
    return module


def gain(
    measured: ModuleType, profile: Profile, base: GeneralizedGaussian, n: int, pilots: int = PILOTS
) -> float:
    found = measured.expected_radii(profile, base, n, pilots, 0)
    return float(found.tailored / found.alone - 1)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1000, 10_000, 100_000])
def test_no_input_loses_more_than_a_hundredth(n: int, measured: ModuleType) -> None:
    gains = {
        name: gain(measured, exact_profile(curve, 1.0, 200.0), WIDE, n)
        for name, curve in CURVES.items()
    }
    assert min(gains.values()) > LEAST, gains
    assert gains["half space at 1.5"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("n", [1000, 10_000, 100_000])
def test_recorded_inputs_lose_no_more_and_gain_on_average(n: int, measured: ModuleType) -> None:
    if not measured.REFERENCE.exists():
        pytest.skip("the recorded landscapes are not at ../shared/reference")
    gains = [
        gain(measured, profile, base, n, 20)
        for _, base, profiles in measured.recorded_profiles(None)
        for profile in profiles[5::25]
        if measured.expected_radii(profile, base, n, 1, 0).alone > 0.2
    ]
    assert min(gains) > LEAST, gains
    assert np.mean(gains) > (0.0 if n == 1000 else 0.02), gains
