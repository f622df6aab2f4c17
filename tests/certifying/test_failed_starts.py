"""A start that fails before the first input leaves the place as it was found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dsrs.errors import ClassifierError, StoreError, StoreMismatch
from dsrs.store import RunResult, open_run, start_run


def fail_to_start(folder: Path, config: dict[str, Any]) -> None:
    with pytest.raises(ClassifierError), start_run(folder, config):
        raise ClassifierError("the model failed on the first batch")


def test_nothing_is_left_of_a_failed_start(tmp_path: Path, config: dict[str, Any]) -> None:
    fail_to_start(tmp_path / "runs" / "deep" / "new", config)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").mkdir()
    fail_to_start(tmp_path / "mine", config)
    assert list(tmp_path.rglob("*")) == [tmp_path / "mine"]


def test_what_is_finished_stays(
    tmp_path: Path, config: dict[str, Any], make_result: Callable[..., RunResult]
) -> None:
    def start_and_fail() -> None:
        with start_run(tmp_path / "run", config) as writer:
            writer.add(make_result(3))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start_and_fail()
    fail_to_start(tmp_path / "run", config)
    with open_run(tmp_path / "run") as run:
        assert run.indices() == [3]
    with pytest.raises(StoreMismatch):
        start_run(tmp_path / "run", config | {"device": "cuda"})


def test_an_empty_run_does_not_block_the_corrected_command(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    start_run(tmp_path / "run", config).close()  # as after a kill before the first input
    with start_run(tmp_path / "run", config | {"device": "cuda"}) as writer:
        assert writer.finished() == set()
    with open_run(tmp_path / "run") as run:
        assert run.config["device"] == "cuda"


def test_a_lock_that_is_a_link_is_refused(tmp_path: Path, config: dict[str, Any]) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "writer.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is a link"):
        start_run(tmp_path / "run", config)
    assert not (tmp_path / "elsewhere").exists()
