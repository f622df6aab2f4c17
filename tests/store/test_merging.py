"""Parts of a run, put together."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dsrs.certifying import certify_run
from dsrs.classifiers import from_callable
from dsrs.cli.main import main
from dsrs.datasets import Dataset
from dsrs.errors import InvalidInput, StoreError, StoreMismatch
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.methods import Plan
from dsrs.proofs import AttackedInput
from dsrs.store import (
    RunResult,
    attack_settings,
    attacked_inputs,
    merge_runs,
    open_run,
    start_attack,
    start_run,
)

D, INPUTS = 9, 7
PLAN = Plan(
    GeneralizedGaussian(D, 0.5),
    ("np", "tailored"),
    n=300,
    batch=16,
    grid=Grid.of_bounds((0.0, 1.0)),
)
MODEL = from_callable(
    lambda batch: (batch.mean(axis=1) > 0.4).astype(np.int64), (D,), 2, fingerprint="mean"
)
IMAGES = np.random.default_rng(0).random((INPUTS, D), dtype=np.float32)
LABELS = np.arange(INPUTS) % 2
DATA = Dataset.from_arrays(IMAGES, LABELS)


def certified(path: Path, indices: list[int], plan: Plan = PLAN) -> Path:
    certify_run(MODEL, DATA, plan, indices, path, workers=1)
    return path


def contents(path: Path) -> list[RunResult]:
    with open_run(path) as run:
        return [
            dataclasses.replace(one, sampled=dataclasses.replace(one.sampled, seconds=0.0))
            for one in run.results()
        ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certified(tmp_path_factory.mktemp("whole") / "run", list(range(INPUTS)))


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    parts=st.lists(
        st.lists(st.integers(0, INPUTS - 1), unique=True, min_size=1), min_size=1, max_size=4
    ),
    cut=st.integers(0, 4),
)
def test_random_parts_make_the_whole_bit_for_bit(
    parts: list[list[int]], cut: int, whole: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any parts, also overlapping ones and in any order, merged at once or in two goes."""
    folder = tmp_path_factory.mktemp("parts")
    missing = sorted(set(range(INPUTS)) - {index for part in parts for index in part})
    parts = [*parts, missing] if missing else parts
    paths = [certified(folder / str(n), part) for n, part in enumerate(parts)]
    for some in (paths[:cut], paths[cut:]):
        if some:
            merge_runs(some, folder / "all")
    assert contents(folder / "all") == contents(whole)
    with open_run(folder / "all") as run, open_run(whole) as one:
        assert run.config == one.config


def test_the_command_line_shards_and_merges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", images=IMAGES, labels=LABELS)
    words = ["certify", "--model", "known_classifiers:brightest", "--num-classes", "2", "--quiet"]
    words += ["--data", "data.npz", "--sigma", "0.5", "--n", "200", "--batch-size", "16"]
    assert main([*words, "--output", "whole"]) == 0
    for n in (1, 2, 3):
        assert main([*words, "--shard", f"{n}/3", "--output", f"part-{n}"]) == 0
    with open_run("part-2") as run:
        assert run.indices() == [1, 4]
    capsys.readouterr()
    assert main(["merge", "part-1", "part-2", "part-3", "--output", "all"]) == 0
    assert capsys.readouterr().out == "7 inputs, 7 added: all\n"
    assert contents(Path("all")) == contents(Path("whole"))
    assert Path("all/run.toml").read_text() == Path("whole/run.toml").read_text()
    assert main(["merge", "all", "part-1", "--output", "all"]) == 0
    assert "7 inputs, 0 added" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/0", "a/b", "-1/3", "1/3/5"])
def test_what_is_no_shard(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["certify", "--model", "m", "--data", "d", "--output", "o", "--shard=" + text]
    assert main(words) == 2
    assert "expected I/N with I from 1 to N" in capsys.readouterr().err


def test_parts_of_different_settings_are_refused(tmp_path: Path) -> None:
    paths = [
        certified(tmp_path / "a", [0]),
        certified(tmp_path / "b", [1], PLAN.replace(seed=1)),
    ]
    with pytest.raises(StoreMismatch, match=r"plan\.seed"):
        merge_runs(paths, tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_inputs_that_disagree_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    first = certified(tmp_path / "a", [0, 1])
    with open_run(first) as run:
        result, config = run.result(1), run.config
    votes = result.sampled.votes[0]
    moved = dataclasses.replace(votes, counts=votes.counts[::-1])
    forged = dataclasses.replace(
        result,
        sampled=dataclasses.replace(result.sampled, votes=(moved, *result.sampled.votes[1:])),
    )
    with start_run(tmp_path / "b", config) as writer:
        writer.add(forged)
    for parts in (["a", "b"], ["b", "a"]):
        with pytest.raises(StoreMismatch, match=r"input 1 differs between .* \(votes\)"):
            merge_runs([tmp_path / part for part in parts], tmp_path / "all")
    assert not (tmp_path / "all").exists()
    merge_runs([first], tmp_path / "all")
    with pytest.raises(StoreMismatch, match="input 1 differs"):
        merge_runs([tmp_path / "b"], tmp_path / "all")
    assert contents(tmp_path / "all") == contents(first)


def test_an_output_of_other_settings_is_left_alone(tmp_path: Path) -> None:
    part = certified(tmp_path / "a", [0])
    other = certified(tmp_path / "all", [0], PLAN.replace(alpha=0.01))
    before = contents(other)
    with pytest.raises(StoreMismatch):
        merge_runs([part], other)
    assert contents(other) == before
    with pytest.raises(StoreError):
        merge_runs([tmp_path / "nothing"], tmp_path / "new")
    with pytest.raises(InvalidInput):
        merge_runs([], tmp_path / "new")


def attacked(path: Path, index: int, estimate: float = 0.5, budget: int = 10) -> None:
    """An attack on one input of a run."""
    moved = np.full(D, 0.1, np.float32)
    found = AttackedInput(
        index, 1, "np", "majority", 0.1, (), None, moved, votes=10, estimate=estimate, seconds=1.5
    )
    with start_attack(path, {"budget": budget}) as attack:
        attack.add(found)


def test_attacks_come_along(tmp_path: Path) -> None:
    paths = [certified(tmp_path / str(n), [n, 2]) for n in range(2)]
    for n, path in enumerate(paths):
        attacked(path, n)
        attacked(path, 2)
    for _ in range(2):
        merge_runs(paths, tmp_path / "all")
    with open_run(tmp_path / "all") as run:
        found = attacked_inputs(run)
        assert attack_settings(run) == {"budget": 10}
    assert sorted(found) == [0, 1, 2]
    assert found[1].perturbation is not None
    np.testing.assert_array_equal(found[1].perturbation, np.full(D, 0.1, np.float32))


def test_attacks_that_disagree_are_refused(tmp_path: Path) -> None:
    for name, changes in (("a", {}), ("b", {"budget": 20}), ("c", {"estimate": 0.7})):
        attacked(certified(tmp_path / name, [0]), 0, **changes)
    with pytest.raises(StoreMismatch, match="attacked with different settings"):
        merge_runs([tmp_path / "a", tmp_path / "b"], tmp_path / "all")
    with pytest.raises(StoreMismatch, match="the attack on input 0 differs"):
        merge_runs([tmp_path / "a", tmp_path / "c"], tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_sessions_of_the_parts_are_kept_once(tmp_path: Path) -> None:
    paths = [certified(tmp_path / str(n), [n]) for n in range(2)]
    random.Random(0).shuffle(paths)
    merge_runs(paths, tmp_path / "all")
    merge_runs(paths, tmp_path / "all")
    with open_run(tmp_path / "all") as run:
        started = [each["started"] for each in run.sessions]
    for path in paths:
        with open_run(path) as part:
            assert started.count(part.sessions[0]["started"]) >= 1
