"""Routed classifiers from Python: answers, certificates, streams of their own, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dsrs
from dsrs.classifiers.routed import RoutedModel
from dsrs.errors import InvalidInput
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import Plan
from dsrs.noise.stream import Stream
from dsrs.proofs.checking import find_flaw
from dsrs.proofs.routed import Routed
from dsrs.votes.records import SampledInput
from routing import planted

SURE, WAVERING = [-2.0, 0.6, 0.0, 0.0], [-0.05, 0.6, 0.0, 0.0]


def routed(**options: object) -> dsrs.RoutedClassifier:
    """Experts of two noises that agree, and a router that changes at 0."""
    experts = [dsrs.smooth(planted.expert(), sigma) for sigma in (0.25, 1.0)]
    settings = {"n": 2000, "seed": 1, "method": "np"} | options
    return dsrs.RoutedClassifier(dsrs.smooth(planted.router(), 0.5), experts, **settings)


def test_experts_that_agree_do_not_need_a_sure_router() -> None:
    sure, wavering = (routed().certify(np.array(x, "f4"), 1) for x in (SURE, WAVERING))
    assert isinstance(sure.proof, Routed)
    assert isinstance(wavering.proof, Routed)
    assert sure.radius == pytest.approx(wavering.radius, abs=0.08)
    assert wavering.proof.router_reach < 0.1 < 0.4 < wavering.radius < 0.6
    assert find_flaw(sure) is None
    assert dsrs.check(wavering)


def test_predict_answers_the_named_expert_or_abstains() -> None:
    smoothed = routed()
    assert smoothed.predict(np.array(SURE, "f4")).label == 1
    assert smoothed.predict(np.array(WAVERING, "f4")).label == 1
    assert smoothed.predict(np.array(SURE, "f4"), radius=0.3).label == 1
    assert smoothed.predict(np.array(SURE, "f4"), radius=1.0).label is None
    # Where the router wavers between experts that disagree, nothing may be said.
    experts = [dsrs.smooth(planted.expert(), 0.25), dsrs.smooth(planted.model("other", 3), 0.25)]
    torn = dsrs.RoutedClassifier(dsrs.smooth(planted.router(), 0.5), experts, seed=1)
    assert torn.predict(np.array([0.0, 1.0, 0.0, -1.0], "f4"), n=1000).status == "abstained"


def test_a_plain_expert_answers_without_a_certificate() -> None:
    smoothed = dsrs.RoutedClassifier(
        dsrs.smooth(planted.router(), 0.5),
        [planted.expert(), dsrs.smooth(planted.expert(), 0.5)],
        n=1000,
        seed=1,
        method="np",
    )
    plain, noisy = np.array(SURE, "f4"), np.array([2.0, 0.6, 0.0, 0.0], "f4")
    assert smoothed.predict(plain).counts == (0, 1)
    assert smoothed.certify(plain).status == "abstained"
    assert smoothed.sample(plain).predicted == 1
    found = smoothed.certify(noisy)
    assert found.radius > 0.4
    assert isinstance(found.proof, Routed)
    assert found.proof.experts[0].router_alpha == found.proof.alpha  # all of it
    assert find_flaw(found) is None


@pytest.mark.parametrize("method", ["np", "tailored", "rescaled:0.8x"])
def test_experts_are_certified_by_any_method(method: str) -> None:
    smoothed = routed(method=method)
    found = smoothed.certify(np.array(WAVERING, "f4"), 1)
    assert 0.3 < found.radius < 0.6
    assert find_flaw(found) is None


def test_many_inputs_make_a_run(tmp_path: Path) -> None:
    x = np.array([SURE, WAVERING, [1.0, -0.4, 0.0, 0.0]], "f4")
    run = routed(n=500).certify(x, [1, 1, 0], save=tmp_path / "run")
    assert (run.radii > 0).all()
    assert run.accuracy(0.1) == 1.0
    again = routed(n=500).certify(x[1], 1, index=1)
    assert again == run[1]


def test_votes_of_a_routed_run_are_read_as_they_were_written() -> None:
    smoothed = routed(method="tailored")
    seen = smoothed.sample(np.array(WAVERING, "f4"), 1)
    assert {votes.stream.classifier for votes in seen.votes} == {0, 1, 2}
    assert SampledInput.from_dict(seen.to_dict(), smoothed.plan.law) == seen
    assert Plan.from_dict(smoothed.plan.to_dict()) == smoothed.plan


def test_router_and_experts_have_noise_of_their_own() -> None:
    law = GeneralizedGaussian(4, 0.5)
    keys = {Stream("estimation", law, place).key for place in range(3)}
    assert len(keys) == 3
    # The only classifier of a run has the key that it had before there were places.
    assert Stream("estimation", law).key == Stream("estimation", law, 0).key


def test_one_grid_is_the_finest_that_any_member_wants() -> None:
    experts = [dsrs.smooth(planted.expert(), sigma) for sigma in (0.004, 1.0)]
    plan = dsrs.RoutedClassifier(dsrs.smooth(planted.router(), 0.5), experts).plan
    assert plan.known_grid == experts[0].plan.known_grid != experts[1].plan.known_grid


def test_models_that_do_not_fit_are_refused() -> None:
    law, expert = GeneralizedGaussian(4, 0.5), planted.expert()
    with pytest.raises(InvalidInput, match="as many answers"):
        RoutedModel(planted.router(), law, [expert] * 3, (law,) * 3)
    with pytest.raises(InvalidInput, match="plain models only"):
        RoutedModel(planted.router(), law, [expert] * 2, (None, None))
    with pytest.raises(InvalidInput, match="two experts or more"):
        RoutedModel(planted.router(), law, [expert], (law,))
    with pytest.raises(InvalidInput, match="must be smoothed"):
        dsrs.RoutedClassifier(planted.router(), [expert, expert])  # type: ignore[arg-type]
    model = RoutedModel(planted.router(), law, [expert] * 2, (law, law))
    with pytest.raises(InvalidInput, match="noise of its router"):
        dsrs.SmoothedClassifier(model, GeneralizedGaussian(4, 0.25))
    with pytest.raises(InvalidInput, match="randomized"):
        dsrs.SmoothedClassifier(model, bound="randomized")
