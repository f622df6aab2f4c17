"""How threads share the work out: one input after the other for all of them, or one each."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dsrs.certifying import certify_run
from dsrs.classifiers import from_callable
from dsrs.datasets import Dataset
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import Plan
from dsrs.store import open_run
from dsrs.votes import UNIT_SAMPLES, ThreadExecutor

DATA = Dataset.from_arrays(np.random.default_rng(0).random((4, 3), dtype=np.float32), [0, 1, 1, 0])


def test_few_votes_are_not_shared_out() -> None:
    executor = ThreadExecutor(3)
    assert executor.in_flight(UNIT_SAMPLES, inputs=20) == 3
    # Shared ones are two, so that nobody waits for the end of one.
    assert executor.in_flight(100 * UNIT_SAMPLES, inputs=20) == 2
    assert executor.in_flight(100 * UNIT_SAMPLES, inputs=1) == 1
    assert executor.in_flight(UNIT_SAMPLES, inputs=1) == 1


def test_all_threads_work_where_an_input_has_a_single_unit(tmp_path: Path) -> None:
    together = threading.Barrier(2, timeout=20)

    def waiting(batch: NDArray[np.float32]) -> NDArray[np.int64]:
        if threading.current_thread() is not threading.main_thread():
            together.wait()  # until another thread is here as well
        return (batch[:, 0] > 0.5).astype(np.int64)

    model = from_callable(waiting, (3,), 2, fingerprint="waiting")
    plan = Plan(GeneralizedGaussian(3, 0.5), ("np",), n=200, batch=256)
    certify_run(model, DATA, plan, range(4), tmp_path / "run", workers=2)
    with open_run(tmp_path / "run") as run:
        assert [result.index for result in run.results()] == [0, 1, 2, 3]
