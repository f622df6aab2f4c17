"""No false claim is verified: what is false is told by arguments that share nothing with the check.

For Gaussian noise the largest radius is known in closed form: sigma Phi^-1(p) from P_A >= p,
sigma (Phi^-1(a) - Phi^-1(b)) / 2 for a lead. For other bounds a classifier that has all the claimed
probabilities, and loses its majority within the claimed radius, shows that a claim is false.
"""

from __future__ import annotations

import copy
import json
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("flint")

from dsrs import GeneralizedGaussian, Interval, certify
from dsrs.audit.checking import check_certificate
from dsrs.proofs.certification import certificate_of
from dsrs.proofs.lead import find_lead

PLAIN = GeneralizedGaussian(784, 0.5)
LONGEST = 60.0  # seconds of the wall for one certificate
FACTORS = (1 + 1e-9, 1 - 1e-9, 1.001, 0.999, 2.0, 0.5, -1.0, 0.0)
Fields = dict[str, Any]


def radius_alone(fields: Fields) -> float:
    """From P_A >= p; infinite for p = 1."""
    return float(fields["law"]["sigma"] * stats.norm.ppf(fields["proof"]["p"][0]))


def radius_of_lead(fields: Fields) -> float:
    proof = fields["proof"]
    scores = stats.norm.ppf(proof["lower"]) - stats.norm.ppf(proof["rival"])
    return float(fields["law"]["sigma"] * scores / 2)


TRUTHS: dict[str, tuple[Any, Callable[[Fields], float]]] = {
    "alone": (certify(PLAIN, Interval(0.93, 0.95)), radius_alone),
    "lead": (certificate_of(PLAIN, find_lead(PLAIN, 0.5, 0.2)), radius_of_lead),
}


def numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in entries:
        if isinstance(entry, (dict, list)):
            yield from numbers(entry, (*path, key))
        elif isinstance(entry, (int, float)) and not isinstance(entry, bool):
            yield (*path, key)


def multiplied(fields: Fields, path: tuple[Any, ...], factor: float) -> Fields:
    changed = copy.deepcopy(fields)
    place: Any = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] *= factor
    return changed


def word_of(fields: Fields) -> str:
    began = time.monotonic()
    verdict = check_certificate(fields)
    assert time.monotonic() - began < LONGEST
    assert "this check failed" not in verdict.reason, verdict
    return verdict.word


@pytest.mark.parametrize("name", TRUTHS)
def test_no_number_can_be_changed_to_a_false_claim(name: str) -> None:
    certificate, largest = TRUTHS[name]
    fields = json.loads(json.dumps(certificate.to_dict()))
    assert word_of(fields) == "verified"
    assert fields["radius"] <= largest(fields) * (1 + 1e-12)
    verified = 0
    # One number, and then the radii together, as a forger would.
    forgeries = [multiplied(fields, path, factor) for path in numbers(fields) for factor in FACTORS]
    for factor in FACTORS:
        longer = fields
        for path in numbers(fields):
            if str(path[-1]).endswith("radius"):
                longer = multiplied(longer, path, factor)
        forgeries.append(longer)
    for forged in forgeries:
        if word_of(forged) == "verified":
            verified += 1
            most = largest(forged) * (1 + 1e-12)
            assert forged["radius"] <= most
            assert forged["linf_radius"] * math.sqrt(forged["law"]["d"]) <= most
            assert forged["l1_radius"] <= most
    assert 0 < verified < len(forgeries) / 2


def test_a_lead_is_no_majority() -> None:
    """P_A = 1/2 proves no majority at any distance."""
    lead = json.loads(json.dumps(TRUTHS["lead"][0].to_dict()))
    proof = lead["proof"]
    for steps in (proof["steps"], proof["steps"][:1], proof["steps"][1:]):
        forged = copy.deepcopy(lead)
        p = [proof["lower"], 1.0]
        forged["proof"] = {"kind": "dual", "p": p, "additional": [], "steps": steps}
        assert word_of(forged) == "refuted"


def claim(
    d: int, p: list[float], laws: list[tuple[Fields, list[float]]], radius: float, *prices: float
) -> Fields:
    return {
        "format": 3, "status": "certified", "radius": radius, "np_radius": None, "complete": True,
        "law": {"d": d, "sigma": 0.5, "k": 0.0, "eta": 2.0}, "grid": None,
        "proof": {
            "kind": "dual", "p": p,
            "additional": [{"law": law, "q": q} for law, q in laws],
            "steps": [{"radius": radius, "multipliers": list(prices), "dual_bound": 0.5000001}],
        },
        "subject": None,
    }  # fmt: skip


def test_laws_that_hide_from_quadrature_are_refuted() -> None:
    """The classifier that never names the class has all of these probabilities."""
    weighted = {
        "kind": "weighted", "knots": [392.0], "log_weights": [0.0],
        "inner": -391.0, "outer": -391.0,
    }  # fmt: skip
    narrow = {"kind": "rescaled", "beta": 0.00015896206562992398}
    half = [0.0, 0.5]
    hidden = claim(784, [0.0, 1.0], [(weighted, half), (narrow, half)], 1000.0, 0.0, -1e-200, -1.8)
    assert word_of(hidden) == "refuted"
    itself = {
        "kind": "weighted", "knots": [10.13], "log_weights": [8909.47], "inner": 0.0, "outer": 0.0,
    }  # fmt: skip
    charged = claim(784, [0.0, 1.0], [(itself, [0.0, 0.0])], 1000.0, 0.0, -4.9e12)
    charged["law"]["k"] = 380.0
    assert word_of(charged) == "refuted"


@pytest.mark.parametrize(("d", "most", "count"), [(3072, 2, 12), (10**6, 12, 2)])
def test_narrow_laws_with_negative_multipliers_buy_nothing(d: int, most: int, count: int) -> None:
    """A half space less a ball around the input, which holds almost none of P and all of the narrow
    laws: P_A = 0.6 - 1e-9 and Q_A = 0 for each of them. It loses its majority at
    sigma Phi^-1(0.6) = 0.1267, and the claim is twice that."""
    generator = np.random.default_rng(5)
    words = []
    for _ in range(count):
        laws = int(generator.integers(1, most + 1))
        betas = 0.5 * 10.0 ** generator.uniform(-4, -0.3, laws)
        observed = [({"kind": "rescaled", "beta": float(beta)}, [0.0, 0.5]) for beta in betas]
        prices = -(10.0 ** generator.uniform(-8, 2, laws))
        own = float(generator.uniform(0.9, 1.2))
        words.append(word_of(claim(d, [0.599, 1.0], observed, 0.25, own, *map(float, prices))))
    assert "verified" not in words
    assert words.count("refuted") >= 0.5 * count, words
