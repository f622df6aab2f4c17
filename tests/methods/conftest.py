"""Bounds without the search for a radius, for simulations that only look at the bounds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache

import pytest
from scipy import special

from dsrs.laws import AdditionalLaw, GeneralizedGaussian
from dsrs.methods import bound_needed
from dsrs.proofs import Certificate, Dual, Interval, Lead, Observation, Rivalry, Status, Step

REPEATED = ("clopper_pearson", "parse_additional_law")


def certify_fast(
    law: GeneralizedGaussian, p: Interval, *additional: Observation, **_: object
) -> Certificate:
    """The bounds as they came, with a radius of the right kind: it grows with them."""
    lowers = [p.lower, *(seen.interval.lower for seen in additional)]
    radius = _radius(law, float(special.ndtri(max(lowers))))
    status: Status = "certified" if radius > 0 else "abstained"
    return Certificate(law, status, radius, None, Dual(p, additional))


def find_lead_fast(
    law: GeneralizedGaussian,
    lower: float,
    rival: float,
    q: AdditionalLaw | None = None,
    p: Rivalry | None = None,
) -> Lead:
    """As `certify_fast`, with the bound on the rivals."""
    radius = _radius(law, float(special.ndtri(lower) - special.ndtri(rival)) / 2)
    return Lead(lower, rival, q, (Step(radius, (), 0.0),) * 2, p)


def _radius(law: GeneralizedGaussian, reach: float) -> float:
    return law.sigma * min(max(reach, 0.0), 9.0)


@pytest.fixture
def bounds_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Certificates hold their bounds; their radii are no proofs. The same counts are read once."""
    for place, module in list(sys.modules.items()):
        if place.startswith(("dsrs.methods.", "dsrs.landscape.")):
            for name, found in list(vars(module).items()):
                if name == "certify":
                    monkeypatch.setattr(module, name, certify_fast)
                elif name == "find_lead":
                    monkeypatch.setattr(module, name, find_lead_fast)
                elif name.startswith(REPEATED) and "strategies" in place:
                    monkeypatch.setattr(module, name, lru_cache(maxsize=None)(found))
    bound_needed.cache_clear()
    yield
    bound_needed.cache_clear()
