"""Results made by hand, so that the store and the formats are tested without any sampling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrs.laws import HISTOGRAM_BINS, GeneralizedGaussian, Rescaled, Truncated
from dsrs.methods import Plan, subject_of
from dsrs.noise import NoiseLaw, Stream
from dsrs.proofs import Certificate, Dual, Interval, Observation, Step
from dsrs.store import RunResult, start_run, thumbnail
from dsrs.votes import ESTIMATION, SampledInput, Votes

LAW = GeneralizedGaussian(d=784, sigma=0.5, k=380)
PLAN = Plan(LAW, ("np", "truncated:heuristic", "rescaled:0.8x"), n=1000, grid=None)


def votes(start: int, total: int, share: float, law: NoiseLaw = LAW) -> Votes:
    trials = np.full(HISTOGRAM_BINS, total // HISTOGRAM_BINS)
    trials[0] += total - trials.sum()
    hits = (trials * share).astype(int)
    counts = (int(hits.sum()), int((trials - hits).sum()))
    return Votes(
        Stream(ESTIMATION, law), start, counts, tuple(trials.tolist()), tuple(hits.tolist())
    )


def certificate(radius: float, *seen: Observation) -> Certificate:
    return Certificate(
        law=LAW,
        radius=radius,
        np_radius=radius / 3,
        status="certified" if radius else "abstained",
        proof=Dual(
            Interval(0.7, 0.7 + radius / 100),
            seen,
            (Step(radius, (0.1, 0.3)[: 1 + len(seen)], 0.5000001),) if radius else (),
        ),
    )


def result(index: int, *, labelled: bool = True) -> RunResult:
    generator = np.random.default_rng(index)
    radii = generator.uniform(0.01, 2.0, 3) * (index % 4 != 0)
    sampled = SampledInput(
        index=index,
        label=index % 2 if labelled else None,
        predicted=0,
        target=index % 2 if labelled else 0,
        votes=(
            votes(0, 500, 0.8),
            votes(500, 500, 0.7),
            votes(0, 500, 0.95, Truncated(LAW, 0.61)),
            votes(0, 500, 0.9, Rescaled(LAW, 0.4)),
        ),
        choices={"truncated:heuristic": Truncated(LAW, 0.61)},
        seconds=float(generator.uniform(0, 5000)),
        model="m1",
        input=f"input {index}",
    )
    seen = (
        (),
        (Observation(Truncated(LAW, 0.61), Interval(0.91, 0.97)),),
        (Observation(Rescaled(LAW, 0.4), Interval(0.85, 0.93)),),
    )
    return RunResult(
        sampled,
        {
            PLAN.name_of(method): replace(
                certificate(radius, *observed), subject=subject_of(sampled, PLAN, method)
            )
            for method, radius, observed in zip(PLAN.methods, radii.tolist(), seen, strict=True)
        },
        thumbnail(generator.random((1, 28, 28), dtype=np.float32)),
    )


@pytest.fixture
def config() -> dict[str, Any]:
    return {
        "plan": PLAN.to_dict(),
        "model": {"description": "ONNX model net.onnx; input (1, 28, 28)", "fingerprint": "m1"},
        "source": {"model": "/models/net.onnx"},
        "data": {"name": "digits", "fingerprint": "d1", "labels": True},
        "device": "cpu",
        "versions": {"dsrs": "0.1.0"},
    }


@pytest.fixture
def make_result() -> Callable[..., RunResult]:
    return result


@pytest.fixture
def run_folder(tmp_path: Path, config: dict[str, Any]) -> Path:
    """A run of nine inputs."""
    folder = tmp_path / "run"
    with start_run(folder, config) as writer:
        for index in range(0, 90, 10):
            writer.add(result(index + index // 10))
    return folder
