"""Attacks in the run folder: resumed, repeated, damaged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from dsrs import AttackSettings, attack_run
from dsrs.attack import attack_input
from dsrs.certifying import setting_of
from dsrs.classifiers import Classifier, load_classifier
from dsrs.datasets import Dataset, load_dataset
from dsrs.errors import StoreCorrupted, StoreError, StoreMismatch
from dsrs.noise import Stream
from dsrs.proofs import AttackedInput
from dsrs.store import STORE_NAME, attack_settings, attacked_inputs, open_run
from dsrs.votes import VoteCollector, WorkUnit

SETTINGS = AttackSettings(budget=8192)


@pytest.fixture
def source(run: Path) -> tuple[Classifier, Dataset]:
    dataset = load_dataset("data.npz")
    return load_classifier("linear_model:first_pixel", input_shape=(1, 3, 3)), dataset


def kept(path: Path) -> dict[int, Any]:
    """Everything of an attack but the time it took."""
    with open_run(path) as run:
        return {
            index: (one.to_dict() | {"seconds": 0}, one.pictures, one.perturbation is not None
                    and one.perturbation.tobytes())
            for index, one in attacked_inputs(run).items()
        }  # fmt: skip


def test_a_stop_loses_nothing_and_changes_nothing(
    run: Path, source: tuple[Classifier, Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    attack_run(run, *source, SETTINGS, workers=2)
    whole = kept(run)
    done: list[int] = []

    def stopping(*arguments: Any, **named: Any) -> AttackedInput:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(named["index"])
        return attack_input(*arguments, **named)

    monkeypatch.setattr("dsrs.attack.attacking.attack_input", stopping)
    with pytest.raises(KeyboardInterrupt):
        attack_run(run, *source, SETTINGS, workers=1, restart=True)
    assert kept(run) == {index: whole[index] for index in done} != {}
    monkeypatch.undo()
    summary = attack_run(run, *source, SETTINGS, workers=1)
    assert kept(run) == whole
    assert [one.index for one in summary.inputs] == [0, 1, 2, 3]


def test_the_votes_of_a_counterexample_can_be_taken_again(
    run: Path, source: tuple[Classifier, Dataset]
) -> None:
    """From what is stored alone: perturbation, seed and the name of the noise."""
    attack_run(run, *source, SETTINGS)
    model, dataset = source
    with open_run(run) as opened:
        plan, found = opened.plan, attacked_inputs(opened)[0]
    point, moved = found.counterexample, found.perturbation
    assert point is not None
    assert moved is not None
    perturbed = dataset.input(0) + moved
    unit = WorkUnit(0, Stream(point.purpose, plan.law), 0, point.votes)
    with VoteCollector(2) as collector:
        counts = collector.collect(
            model, perturbed, replace(setting_of(plan), seed=point.seed), unit
        )
    assert tuple(counts.votes.sum(axis=1).tolist()) == point.counts
    away = perturbed.astype(np.float64) - dataset.input(0)
    # The input and the point stand for grid points within rounding of these numbers.
    assert point.norm == pytest.approx(np.linalg.norm(away), abs=1e-6)


def test_other_settings_are_not_mixed(run: Path, source: tuple[Classifier, Dataset]) -> None:
    attack_run(run, *source, SETTINGS, indices=[0])
    with pytest.raises(StoreMismatch, match="seed: stored 0, given 1"):
        attack_run(run, *source, AttackSettings(budget=8192, seed=1), indices=[0])
    attack_run(run, *source, AttackSettings(budget=8192, seed=1), indices=[1], restart=True)
    assert list(kept(run)) == [1]
    with open_run(run) as opened:
        settings = attack_settings(opened)
    assert settings is not None
    assert settings["seed"] == 1


def test_a_run_that_was_never_attacked_says_so(run: Path) -> None:
    with open_run(run) as opened:
        assert attacked_inputs(opened) == {}
        assert attack_settings(opened) is None


def test_damage_is_found(run: Path, source: tuple[Classifier, Dataset]) -> None:
    attack_run(run, *source, SETTINGS, indices=[0, 1])
    with closing(sqlite3.connect(run / "run.sqlite")) as connection, connection:
        connection.execute("UPDATE attacked SET perturbation = zeroblob(36) WHERE idx = 1")
    with open_run(run) as opened, pytest.raises(StoreCorrupted, match="attack on input 1"):
        attacked_inputs(opened)


def test_an_attack_stops_soon(run: Path, source: tuple[Classifier, Dataset]) -> None:
    from dsrs.votes import Stopped

    model, dataset = source
    with open_run(run) as opened:
        certificate = opened.result(0).certificates["np"]
    stop = Event()
    stop.set()
    with pytest.raises(Stopped):
        attack_input(model, dataset.input(0), 1, certificate, SETTINGS, stop=stop)


def test_a_run_of_others_is_attacked_in_a_copy(
    run: Path, source: tuple[Classifier, Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    before, files = (run / STORE_NAME).read_bytes(), sorted(run.iterdir())
    elsewhere = run.with_name("elsewhere")
    # Tests may run as root, to whom every file is writable.
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) not in (run, run / STORE_NAME))
    with pytest.raises(StoreError, match=r"may not be written.*`output`"):
        attack_run(run, *source, SETTINGS, workers=1)
    found = attack_run(run, *source, SETTINGS, workers=1, output=elsewhere)
    assert found.proved > 0
    assert (run / STORE_NAME).read_bytes() == before
    assert sorted(run.iterdir()) == files
    with open_run(run) as own, open_run(elsewhere) as copy:
        assert copy.plan == own.plan
        assert [one.certificates for one in copy.results()] == [
            one.certificates for one in own.results()
        ]
        assert attack_settings(own) is None
        assert attack_settings(copy) == SETTINGS.to_dict()
    # The same call goes on where it was.
    first = kept(elsewhere)
    assert attack_run(run, *source, SETTINGS, workers=1, output=elsewhere).votes == found.votes
    assert kept(elsewhere) == first
