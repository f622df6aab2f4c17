"""Several devices share out the votes of a run, and the votes are those of one."""

from __future__ import annotations

import pickle
from threading import Event, get_ident
from typing import Any

import numpy as np
import pytest

import dsrs
from dsrs.certifying import sample_input
from dsrs.classifiers import ModelOptions, classifier_of, from_callable, on_several
from dsrs.errors import ClassifierError, InvalidInput
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.methods import Plan
from dsrs.votes import InlineCollector, VoteCollector, crew_of

pytest.importorskip("torch", reason="needs the extra `torch`")
import torch

D = 8
PLAN = Plan(GeneralizedGaussian(D, 0.5), ("np",), n=9000, batch=64).replace(
    grid=Grid.of_bounds((0.0, 1.0))
)
X = np.random.default_rng(3).random(D, dtype=np.float32)
SEEN: list[tuple[int, int]] = []


class Watched(torch.nn.Module):
    """Keeps which copy of it was asked by which thread."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(D, 3)

    def forward(self, batch: Any) -> Any:
        SEEN.append((id(self), get_ident()))
        return self.layer(batch)


def model_on(device: str) -> Any:
    return classifier_of(
        Watched().eval(), "watched", ModelOptions((D,), device=device, engine="eager")
    )


def test_each_device_has_a_model_and_a_worker_of_its_own() -> None:
    both = model_on("cpu:0,cpu:1")
    assert len(both.replicas) == 2
    SEEN.clear()
    with VoteCollector(4) as collector:
        found = sample_input(both, X, PLAN, 0, 1, collector).votes
    threads = {copy: {thread for one, thread in SEEN if one == copy} for copy, _ in SEEN}
    assert len(threads) == 2
    assert sum(len(each) for each in threads.values()) <= 3  # the class is chosen by the caller
    assert found == sample_input(model_on("cpu"), X, PLAN, 0, 1).votes


def test_inputs_in_flight_take_turns() -> None:
    both = model_on("cpu:0,cpu:1")
    found, copies = [], []
    for turn in range(2):
        SEEN.clear()
        found.append(sample_input(both, X, PLAN, 0, 1, InlineCollector(Event(), turn)).votes)
        copies.append({copy for copy, _ in SEEN})
    assert found[0] == found[1]
    assert not copies[0] & copies[1]


def test_where_the_processor_makes_noise_all_workers_do() -> None:
    model = model_on("cpu")
    assert crew_of(model, 3) == [model] * 3
    two = on_several([model_on("cpu"), model_on("cpu")])
    assert [two.replicas.index(each) for each in crew_of(two, 3)] == [0, 1, 0]
    apart = model_on("cpu:0")
    assert crew_of(apart, 3) == (apart,)


def test_smooth_takes_several_devices() -> None:
    smoothed = dsrs.smooth(Watched().eval(), 0.5, device="cpu:0,cpu:1", input_shape=(D,), n=500)
    assert len(smoothed.classifier.replicas) == 2
    assert sum(smoothed.predict(X).counts) > 0


def test_other_models_are_refused() -> None:
    first, second = model_on("cpu:0"), from_callable(lambda rows: rows[:, :3], (D,), name="other")
    with pytest.raises(ClassifierError, match=r"other.* is another model than"):
        on_several([first, second])

    class Own(dsrs.classifiers.Classifier):
        input_shape, num_classes, bounds, description = (D,), 2, (0.0, 1.0), "my own"
        fingerprint = "mine"

        def classify(self, batch: Any) -> Any:
            return np.zeros(len(batch), np.int64)

    with pytest.raises(InvalidInput, match="my own says itself where it runs"):
        on_several([Own(), Own()])


def test_a_model_on_several_devices_is_pickled_with_all_of_them() -> None:
    found = pickle.loads(pickle.dumps(model_on("cpu:0,cpu:1")))
    assert len(found.replicas) == 2
