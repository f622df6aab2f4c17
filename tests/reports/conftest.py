"""Runs made by hand, small enough to compute every number of their report on paper."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping

import pytest

from dsrs.laws import HISTOGRAM_BINS, GeneralizedGaussian, Truncated
from dsrs.noise import Stream
from dsrs.proofs import Certificate, Dual, Interval, Observation, Status, Step
from dsrs.reports import RunSummary
from dsrs.store import RunResult
from dsrs.votes import ESTIMATION, SELECTION, SampledInput, Votes
from reports.headless_chromium import HeadlessChromium, find_chromium

# One grey pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
)
LAW = GeneralizedGaussian(d=16, sigma=1.0, k=2.0)


def votes(purpose: str, start: int, trials: int, hits: int) -> Votes:
    """Votes under P with the same numbers of trials and hits in every radial bin."""
    counts = ((trials - hits) * HISTOGRAM_BINS, hits * HISTOGRAM_BINS)
    bins = (trials,) * HISTOGRAM_BINS, (hits,) * HISTOGRAM_BINS
    return Votes(Stream(purpose, LAW), start, counts, *bins)


def certificate(
    method: str, radius: float, status: Status = "certified", law: GeneralizedGaussian = LAW
) -> Certificate:
    """A certificate of this radius; the report looks only at how far its proof reaches."""
    steps = (Step(radius, (0.1,), 0.6),) if radius else ()
    if method == "np":
        return Certificate(law, status, radius, radius, Dual(Interval(0.75, 1.0), (), steps))
    observed = (Observation(Truncated(law, 0.5), Interval(0.90001, 0.99991)),)
    proof = Dual(Interval(0.70006, 0.80001), observed, steps)
    return Certificate(law, status, radius, 0.0, proof)


def result(
    index: int,
    radii: Mapping[str, float | Status],
    label: int | None = 1,
    predicted: int | None = 1,
    hits_per_bin: int = 9,
    law: GeneralizedGaussian = LAW,
    thumbnail: bytes | None = PNG,
) -> RunResult:
    """One input; a word instead of a radius is the status of a method that certified nothing."""
    certificates = {
        method: certificate(method, 0.0, found, law)
        if isinstance(found, str)
        else certificate(method, found, law=law)
        for method, found in radii.items()
    }
    halves = [votes(ESTIMATION, start, 10, hits_per_bin) for start in (0, 10 * HISTOGRAM_BINS)]
    choosing = votes(SELECTION, 0, 1, 0)
    target = predicted if predicted is not None else 0
    sampled = SampledInput(index, label, predicted, target, (choosing, *halves), seconds=0.5)
    return RunResult(sampled, certificates, thumbnail)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadlessChromium]:
    executable = find_chromium()
    assert executable is not None
    chromium = HeadlessChromium(executable, tmp_path_factory.mktemp("profile"))
    yield chromium
    chromium.close()


@pytest.fixture
def make_result() -> Callable[..., RunResult]:
    return result


@pytest.fixture
def hand_run() -> RunSummary:
    """Eight inputs: four plain ones, a wrong one, an abstention, an undecided one, and no class."""
    return RunSummary.from_results(
        "hand",
        [
            result(0, {"np": 0.5, "truncated": 0.7}),
            result(1, {"np": 1.0, "truncated": 1.0}),
            result(2, {"np": 0.25, "truncated": 0.2}),
            result(3, {"np": 2.0, "truncated": 2.5}),
            result(4, {"np": 1.5, "truncated": 1.6}, predicted=2),
            result(5, {"np": "abstained", "truncated": "abstained"}, hits_per_bin=4),
            result(6, {"np": "undecided", "truncated": 0.3}),
            result(7, {}, predicted=None, hits_per_bin=1),
        ],
        data_fingerprint="sha256:data",
        class_names=("bag", "<b>boot</b>", "</script><!-- & hat"),
        settings={"plan": {"n": 1280, "seed": 7}, "model": {"description": "<script>boom()"}},
    )


@pytest.fixture
def equal_run() -> RunSummary:
    """Four equal inputs, so that every resample gives the same number and intervals are exact."""
    radii = {"np": 1.234375 + 2**-20, "truncated": 1.5}
    results = [result(i, radii) for i in range(4)]
    return RunSummary.from_results("a_1 & co", results)
