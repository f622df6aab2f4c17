"""Two checkers, the second written from FORMAT.md alone, say the same of the same files."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checker.loaded import check
from checker.second_checker import Unreadable
from checker.second_checker import check as second_check
from dsrs.evidence import evidence_of
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.methods import Plan
from evidence.small_runs import make_run

LAW = GeneralizedGaussian(16, 0.5)
PLANS = {
    "plain": Plan(LAW, ("np",), n=1000),
    "grid": Plan(LAW, ("np",), n=700, grid=Grid.of_bounds((0.0, 1.0))),
    "looks": Plan(LAW, ("np",), n=2000, radii=(0.1, 0.3)),
    "family": Plan(LAW, ("np",), n=500, family_alpha=0.05, family_size=3, alpha=0.05 / 4),
    "fall-back": Plan(LAW, ("rescaled:0.8x",), n=600, fallback=True),
}


def first_says(content: bytes) -> dict[str, bool] | None:
    try:
        return {item.name: check.outcome(item)["proved"] for item in check.ProofFile(content).items}
    except check.Unreadable:
        return None


def second_says(content: bytes) -> dict[str, str] | None:
    try:
        return {name: word for name, word, _ in second_check(content)}
    except Unreadable:
        return None


def assert_agreed(content: bytes) -> int:
    """They differ in nothing that the second one decides; how many it decided."""
    first, second = first_says(content), second_says(content)
    if first is None or second is None:
        # What is refused whole by one is proved in no part by the other.
        assert not any((first or {}).values())
        assert "proved" not in (second or {}).values()
        return 1
    decided = {name: word == "proved" for name, word in second.items() if word != "unknown"}
    assert decided == {name: first[name] for name in decided}
    return len(decided)


def numbers(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a JSON value that holds a number: what holds it, and its key."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in list(pairs) if isinstance(value, dict | list) else ():
        if isinstance(each, dict | list):
            yield from numbers(each)
        elif isinstance(each, int | float) and not isinstance(each, bool):
            yield value, key


def changed(value: float, generator: random.Random) -> float | int:
    if isinstance(value, int):
        return max(value + generator.choice([-1, 1, 7, -50]), 0)
    factors = (1 + 1e-13, 1 - 1e-13, 1.01, 0.99, 2.0, -1.0, 0.0)
    return value * generator.choice(factors) + generator.choice([0.0, 0.0, 1e-9])


@pytest.fixture(scope="module", params=PLANS)
def lines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    folder = make_run(tmp_path_factory.mktemp("run") / "run", PLANS[request.param])
    return [json.loads(line) for line in evidence_of(str(folder)).text().splitlines()]


def written(lines: list[Any]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def test_they_agree_on_runs(lines: list[Any], tmp_path: Path) -> None:
    first = first_says(written(lines))
    assert first
    assert all(first.values())
    assert_agreed(written(lines))


def test_they_agree_on_changed_numbers(lines: list[Any]) -> None:
    generator, decided = random.Random(0), 0
    for _ in range(120):
        mutant = copy.deepcopy(lines)
        holder, key = generator.choice(list(numbers(mutant[1:])))
        holder[key] = changed(holder[key], generator)
        decided += assert_agreed(written(mutant))
    assert decided > 60


def test_they_agree_on_a_thousand_certificates() -> None:
    """Bounds just at what the votes show, and just beyond."""
    generator = np.random.default_rng(0)
    plan = {
        **{"plan": "p", "about": {}, "grid": None, "alpha": 0.001},
        "noise": {"d": 784, "sigma": 0.5, "k": 0.0, "eta": 2.0},
        "methods": {"np": [{"streams": [None], "bounds": [
            {"stream": 0, "event": "class", "side": "lower", "looks": [[2000, 0.001]]}]}]},
    }  # fmt: skip
    from scipy import special

    rows: list[Any] = []
    for index in range(1000):
        hits = int(generator.integers(1100, 2001))
        bound = float(special.betaincinv(hits, 2001 - hits, 0.001))
        value = bound * (1 + float(generator.choice([-1e-12, 1e-12])))
        radius = 0.5 * float(special.ndtri(value)) * (1 + float(generator.choice([-1e-12, 1e-12])))
        certificate = {
            **{"form": 0, "class": 0, "streams": [0], "bounds": [{"value": value, "look": 0}]},
            "claims": [{"radius": max(radius, 1e-9), "proof": {"gaussian": 0}}],
        }
        stream = {"law": None, "counts": [[hits, 2000 - hits]]}
        rows.append({"plan": "p", "input": index, "moved": 0.0, "streams": [stream],
                     "certificates": {"np": certificate}})  # fmt: skip
    content = written([{"format": "dsrs-proof-1", "about": {}}, plan, *rows])
    assert assert_agreed(content) == 1000
    first = first_says(content)
    assert first is not None
    assert 150 < sum(first.values()) < 350
