"""Bounds without the search for a radius, for simulations that only look at the bounds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache

import pytest
from scipy import special

from dsrs.laws import AdditionalLaw, GeneralizedGaussian
from dsrs.methods import goals
from dsrs.proofs.certificate import Certificate, Interval, Method, Observation

REPEATED = ("clopper_pearson", "randomized_", "parse_additional_law")


def certify_fast(
    law: GeneralizedGaussian, p: Interval, *additional: Observation, **_: object
) -> Certificate:
    """The bounds as they came, with a radius of the right kind: it grows with them."""
    lowers = [p.lower, *(seen.interval.lower for seen in additional)]
    method: Method = "double-sampling" if additional else "neyman-pearson"
    return _certificate(law, p, additional, float(special.ndtri(max(lowers))), method)


def certify_leading_fast(
    law: GeneralizedGaussian, lower: float, rival: float, q: AdditionalLaw | None = None
) -> Certificate:
    """As `certify_fast`, with the bound on the rivals."""
    additional = () if q is None else (Observation(q, Interval(lower, 1.0)),)
    p = Interval(lower if q is None else 0.0, 1.0)
    reach = float(special.ndtri(lower) - special.ndtri(rival)) / 2
    return _certificate(law, p, additional, reach, "leading-class", rival)


def _certificate(
    law: GeneralizedGaussian,
    p: Interval,
    additional: tuple[Observation, ...],
    reach: float,
    method: Method,
    rival: float | None = None,
) -> Certificate:
    radius = law.sigma * min(max(reach, 0.0), 9.0)
    status = "certified" if radius > 0 else "abstained"
    return Certificate(law, p, additional, radius, 0.0, status, method, rival=rival)


@pytest.fixture
def bounds_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Certificates hold their bounds; their radii are no proofs. The same counts are read once."""
    for place, module in list(sys.modules.items()):
        if place.startswith(("dsrs.methods.", "dsrs.landscape.")):
            for name, found in list(vars(module).items()):
                if name == "certify":
                    monkeypatch.setattr(module, name, certify_fast)
                elif name == "certify_leading":
                    monkeypatch.setattr(module, name, certify_leading_fast)
                elif name.startswith(REPEATED) and "strategies" in place:
                    monkeypatch.setattr(module, name, lru_cache(maxsize=None)(found))
    goals.bound_needed.cache_clear()
    yield
    goals.bound_needed.cache_clear()
