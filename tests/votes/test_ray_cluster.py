"""Votes on a Ray cluster: real actors, three nodes on this machine, killed and slow ones."""

from __future__ import annotations

import dataclasses
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrs.certifying import certify_run
from dsrs.classifiers import load_classifier
from dsrs.datasets import Dataset
from dsrs.errors import ClusterError, InvalidInput
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.methods import METHODS, Plan
from dsrs.proofs import PROOF_KINDS
from dsrs.store import RunResult, open_run
from dsrs.votes import ModelSpec, RayExecutor, connect_to_ray
from house.toys.first_miss import ENTRY, HalfSpace
from votes import voters

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'dsrs[ray]'")
cluster_utils = pytest.importorskip("ray.cluster_utils")
# Ray warns of its own coming changes and leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore")

D, INPUTS = 16, 6
PLAN = Plan(
    GeneralizedGaussian(D, 0.5),
    ("np", "tailored"),
    n=3000,
    batch=32,
    grid=Grid.of_bounds((0.0, 1.0)),
)
DATA = Dataset.from_arrays(
    np.random.default_rng(0).random((INPUTS, D), dtype=np.float32), np.ones(INPUTS, dtype=np.int64)
)
OPTIONS: dict[str, Any] = {"input_shape": (D,), "num_classes": 2}


class Three:
    """A head node without cores, and three others of one core each."""

    def __init__(self) -> None:
        self.cluster = cluster_utils.Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
        )
        self.nodes = [self.add() for _ in range(3)]

    def add(self, **environment: str) -> Any:
        return self.cluster.add_node(num_cpus=1, env_vars=environment or None)

    def replace(self, place: int, **environment: str) -> None:
        self.cluster.remove_node(self.nodes[place], allow_graceful=False)
        self.nodes[place] = self.add(**environment)


@pytest.fixture(scope="module", autouse=True)
def a_method_with_a_tally() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(METHODS, ENTRY.name, ENTRY)
        patch.setitem(PROOF_KINDS, HalfSpace.kind, HalfSpace)
        yield


@pytest.fixture(scope="module")
def three() -> Iterator[Three]:
    with pytest.MonkeyPatch.context() as patch:
        # Nodes find modules by their own paths: voters, and house.toys.
        for folder in Path(voters.__file__).parents[0], Path(voters.__file__).parents[1]:
            patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        made = Three()
        ray.init(address=made.cluster.address, log_to_driver=False, logging_level=logging.ERROR)
        yield made
        ray.shutdown()
        made.cluster.shutdown()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[RunResult]]:
    """The runs of one machine."""
    found = {}
    for name, plan in plans().items():
        path = tmp_path_factory.mktemp("threads") / name
        model = load_classifier("voters:bright", **OPTIONS)
        certify_run(model, DATA, plan, range(INPUTS), path, workers=2)
        found[name] = contents(path)
    return found


def plans() -> dict[str, Plan]:
    return {
        "open": PLAN,
        "radius": PLAN.replace(methods=("np",), radius=0.2),
        "tally": PLAN.replace(methods=("np", ENTRY.name)),
    }


def contents(path: Path) -> list[RunResult]:
    with open_run(path) as run:
        return [
            dataclasses.replace(one, sampled=dataclasses.replace(one.sampled, seconds=0.0))
            for one in run.results()
        ]


def counted(path: Path, plan: Plan = PLAN, name: str = "voters:bright", **options: Any) -> None:
    """A run on the cluster."""
    model = load_classifier(name, **OPTIONS)
    executor = RayExecutor(ModelSpec.of(name, OPTIONS, model), "auto", **options)
    certify_run(model, DATA, plan, range(INPUTS), path, executor=executor)


@pytest.mark.parametrize("name", ["open", "radius", "tally"])
def test_three_nodes_count_what_one_machine_counts(
    name: str, three: Three, expected: dict[str, list[RunResult]], tmp_path: Path
) -> None:
    counted(tmp_path / "run", plans()[name])
    assert contents(tmp_path / "run") == expected[name]


def test_a_node_with_another_model_is_refused_and_the_others_go_on(
    three: Three,
    expected: dict[str, list[RunResult]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    three.replace(0, **{voters.OTHER: "0.2"})
    try:
        counted(tmp_path / "run")
    finally:
        three.replace(0)
    assert contents(tmp_path / "run") == expected["open"]
    assert "has another model than was asked for" in caplog.text


def test_a_model_file_that_changed_is_refused_everywhere(three: Three, tmp_path: Path) -> None:
    model = load_classifier("voters:bright", **OPTIONS)
    spec = dataclasses.replace(ModelSpec.of("voters:bright", OPTIONS, model), fingerprint="sha256")
    executor = RayExecutor(spec, "auto")
    with pytest.raises(ClusterError, match="has another model than was asked for"):
        certify_run(model, DATA, PLAN, range(INPUTS), tmp_path / "run", executor=executor)
    assert not (tmp_path / "run").exists()


def test_a_node_with_little_memory_counts_the_same_votes(
    three: Three,
    expected: dict[str, list[RunResult]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    three.replace(0, **{voters.ROWS: "8"})
    try:
        with caplog.at_level(logging.INFO, "dsrs"):
            counted(tmp_path / "run")
    finally:
        three.replace(0)
    assert contents(tmp_path / "run") == expected["open"]
    assert "an actor ran out of memory: it takes 8 rows at a time" in caplog.text
    assert "down to 8 rows instead of 32, and the votes are the same" in caplog.text


def test_a_slow_node_does_not_hold_up_the_others(
    three: Three, expected: dict[str, list[RunResult]], tmp_path: Path
) -> None:
    """A batch takes the slow node 2 s: alone it would need minutes for one unit."""
    three.replace(1, **{voters.SLOW: "2"})
    try:
        began = time.monotonic()
        counted(tmp_path / "run")
        seconds = time.monotonic() - began
    finally:
        three.replace(1)
    assert contents(tmp_path / "run") == expected["open"]
    assert seconds < 45


def kill_in_the_middle(three: Three, path: Path, seed: int) -> None:
    """A run of a slow classifier; a node dies on the way and another one joins."""
    generator = random.Random(seed)
    failed: list[BaseException] = []

    def run() -> None:
        try:
            counted(path, name="voters:leisurely")
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    # Every node has its actor, or is about to.
    wait_until(lambda: path.exists() and ray.available_resources().get("CPU", 0) == 0)
    time.sleep(generator.uniform(0, 1.5))
    three.replace(generator.randrange(3))
    thread.join(timeout=120)
    assert not thread.is_alive()
    assert not failed, failed


def wait_until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.05)


def leisurely(path: Path) -> list[RunResult]:
    model = load_classifier("voters:leisurely", **OPTIONS)
    certify_run(model, DATA, PLAN, range(INPUTS), path, workers=2)
    return contents(path)


def test_a_killed_node_changes_nothing(three: Three, tmp_path: Path) -> None:
    kill_in_the_middle(three, tmp_path / "run", seed=0)
    assert contents(tmp_path / "run") == leisurely(tmp_path / "threads")


@pytest.mark.slow
def test_twenty_killed_nodes_change_nothing(three: Three, tmp_path: Path) -> None:
    expected = leisurely(tmp_path / "threads")
    for seed in range(20):
        kill_in_the_middle(three, tmp_path / f"run-{seed}", seed)
        assert contents(tmp_path / f"run-{seed}") == expected


def test_actors_with_several_threads(
    three: Three, expected: dict[str, list[RunResult]], tmp_path: Path
) -> None:
    wide = three.cluster.add_node(num_cpus=2)
    try:
        counted(tmp_path / "run", threads=2)
    finally:
        three.cluster.remove_node(wide, allow_graceful=False)
    assert contents(tmp_path / "run") == expected["open"]


@pytest.mark.parametrize(
    "error",
    [
        ConnectionError("nobody answers\nat this address"),
        ray.exceptions.AuthenticationError("no authentication token was found"),
    ],
)
def test_a_cluster_that_does_not_let_us_in_is_named(error: Exception) -> None:
    class Closed:
        exceptions = ray.exceptions

        def init(self, **_: object) -> None:
            raise error

    with pytest.raises(ClusterError, match=r"no Ray cluster at 'head:6379': no.*RAY_AUTH_MODE"):
        connect_to_ray(Closed(), "head:6379", 1)


def test_threads_of_an_actor_are_checked() -> None:
    with pytest.raises(InvalidInput, match="threads_per_actor"):
        RayExecutor(ModelSpec("m", {}, "f"), "local", threads=0)
