"""Attacks whose distance is measured in l1 or l-infinity, and attacks within a given distance."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from dsrs.attack import AttackSettings, Room, attack_input
from dsrs.classifiers import from_callable
from dsrs.cli.main import main
from dsrs.laws import NORMS, GeneralizedGaussian, Norm, norm_of
from dsrs.proofs import AttackedInput, Certificate, Dual, Interval

D, SIGMA, MARGIN = 48, 0.5, 0.75
# The half-space <normal, x> < MARGIN ends at the distance MARGIN / (dual norm of the normal).
WEIGHTS = np.where(np.arange(D) % 4 == 0, 3.0, 1.0)
NORMAL = WEIGHTS / np.linalg.norm(WEIGHTS)
DUAL: dict[Norm, float] = {"l1": np.abs(NORMAL).max(), "l2": 1.0, "linf": np.abs(NORMAL).sum()}


def half_space(batch: np.ndarray) -> np.ndarray:
    score = MARGIN - batch @ NORMAL
    return np.stack([-score, score], axis=1)


def attacked(radius: float = 0.01, **settings: object) -> AttackedInput:
    law = GeneralizedGaussian(D, SIGMA)
    certificate = Certificate(law, "certified", radius, radius, Dual(Interval(0.6, 1)))
    chosen = AttackSettings(budget=75_000, **settings)  # type: ignore[arg-type]
    model = from_callable(half_space, (D,))
    return attack_input(model, np.zeros(D, np.float32), 1, certificate, chosen)


@pytest.mark.parametrize(("norm", "slack"), [("l1", 1.1), ("linf", 1.12)])
def test_a_half_space_is_attacked_near_its_distance(norm: Norm, slack: float) -> None:
    """The proof costs about 4%, a direction from votes, which is never quite right, the rest."""
    found = attacked(norm=norm)
    true = MARGIN / DUAL[norm]
    assert found.norm == norm
    assert found.attacked is not None
    assert 1 < found.attacked / true < slack
    assert found.perturbation is not None
    assert norm_of(found.perturbation, norm) <= found.attacked
    assert found.certified == (0.01 if norm == "l1" else pytest.approx(0.01 / math.sqrt(D)))


@pytest.mark.parametrize("norm", NORMS)
def test_a_distance_is_decided(norm: Norm) -> None:
    """Beyond the end the answer provably changes; before it nothing may be shown."""
    true = MARGIN / DUAL[norm]
    beyond, before = attacked(norm=norm, eps=1.15 * true), attacked(norm=norm, eps=0.95 * true)
    assert beyond.verdict == "changed"
    assert beyond.attacked is not None
    assert 1.0 * true < beyond.attacked <= 1.15 * true
    assert len(beyond.candidates) == 1
    assert beyond.candidates[0].alpha == 0.001
    assert before.verdict == "undecided"
    assert before.attacked is None


def test_a_distance_that_is_certified_needs_no_votes() -> None:
    found = attacked(radius=0.5, eps=0.49)
    assert (found.verdict, found.votes, found.candidates) == ("robust", 0, ())
    # A certificate speaks of shifts shorter than its radius.
    assert attacked(radius=0.5, eps=0.5).verdict == "undecided"


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("bounds", [None, (0.0, 1.0)], ids=["R^d", "box"])
def test_the_nearest_point_of_a_plane_is_nearest(
    norm: Norm, bounds: tuple[float, float] | None
) -> None:
    """Against a linear program (l1, l-infinity) or a quadratic one (l2), in six dimensions."""
    generator = np.random.default_rng(5)
    for _ in range(5):
        x = generator.random(6).astype(np.float32)
        normal = generator.standard_normal(6)
        normal /= np.linalg.norm(normal)
        depth = 0.3
        room = Room(x, bounds, norm)
        delta = room.beyond(normal, depth)
        assert normal @ delta == pytest.approx(depth)
        box: list[Any] = (
            [(None, None)] * 6 if bounds is None else [(-v, 1.0 - v) for v in map(float, x)]
        )
        assert norm_of(delta, norm) == pytest.approx(_least(normal, depth, box, norm), rel=1e-5)
        length = norm_of(delta, norm)
        deepest = room.within(normal, length)
        assert norm_of(deepest, norm) <= length * (1 + 1e-12)
        assert normal @ deepest == pytest.approx(depth)


def _least(normal: np.ndarray, depth: float, box: list[Any], norm: Norm) -> float:
    """The least length of a delta in the box with <normal, delta> >= depth."""
    d = len(normal)
    if norm == "l2":
        found = optimize.minimize(
            lambda v: v @ v,
            normal * depth,
            bounds=box,
            constraints={"type": "ineq", "fun": lambda v: normal @ v - depth},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        return math.sqrt(found.fun)
    sizes = d if norm == "l1" else 1  # |delta_i| <= size_i, or one size for all
    spread = np.eye(d) if norm == "l1" else np.ones((d, 1))
    rows = np.block([[np.eye(d), -spread], [-np.eye(d), -spread]])
    plane = np.concatenate([-normal, np.zeros(sizes)])
    found = optimize.linprog(
        np.concatenate([np.zeros(d), np.ones(sizes)]),
        np.vstack([rows, plane]),
        np.concatenate([np.zeros(2 * d), [-depth]]),
        bounds=box + [(0, None)] * sizes,
    )
    return float(found.fun)


def test_the_command_tells_the_rate_over_all_inputs(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One pixel decides: the answer to the last image, whose first pixel is 0, ends at 0.2."""
    words = [
        "attack",
        "run",
        "--trust-code",
        "--budget",
        "16384",
        "--quiet",
        "--norm",
        "linf",
        "--eps",
        "0.25",
    ]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["norm"] == "linf"
    rates = found["eps"]
    assert rates["inputs"] == 4 == rates["robust"] + rates["changed"] + rates["undecided"]
    verdicts = [one["verdict"] for one in found["inputs"]]
    assert verdicts == ["undecided", "undecided", "undecided", "changed"]
    assert rates["changed"] == verdicts.count("changed")
    assert rates["robust_accuracy_at_most"] == 1 - rates["changed"] / 4
    assert rates["robust_accuracy_at_least"] == rates["robust"] / 4
    assert main(words) == 0  # the same attack, kept
    shown = capsys.readouterr().out
    assert "robust accuracy within 0.25: at least" in shown
    assert "measured in the linf norm" in shown
    assert main([*words[:-1], "0.2"]) == 2
    assert "eps: stored 0.25, given 0.2" in capsys.readouterr().err
    assert main(["report", "run", "--output", "report.html"]) == 0
    assert "attacked (linf norm)" in capsys.readouterr().out
    assert main(["attack", "run", "--eps", "-1"]) == 2
    assert "--eps must be a distance up to 1e+30" in capsys.readouterr().err
