"""Bounds without the search for a radius, for simulations that only look at the bounds."""

from __future__ import annotations

import sys
from functools import lru_cache

import pytest

from dsrs.laws import GeneralizedGaussian
from dsrs.records import Certificate, Interval, Observation
from dsrs.strategies import base


@pytest.fixture
def bounds_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates hold their bounds, and no radius; the same counts are read once."""

    def without_search(
        law: GeneralizedGaussian, p: Interval, *additional: Observation
    ) -> Certificate:
        method = "double-sampling" if additional else "neyman-pearson"
        return Certificate(law, p, additional, 0.0, 0.0, "abstained", method)

    monkeypatch.setattr(base, "certify", without_search)
    for name, module in list(sys.modules.items()):
        if name.startswith("dsrs.strategies."):
            for function, found in list(vars(module).items()):
                if function.startswith(("clopper_pearson", "parse_additional_law")):
                    monkeypatch.setattr(module, function, lru_cache(maxsize=None)(found))
