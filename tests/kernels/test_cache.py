"""The folder of compiled code: another one for each state of its sources, and old ones go."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from dsrs.kernels import CACHE, IN_USE_SECONDS, kernel_folder


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    file = tmp_path / "source.py"
    file.write_text("first")
    return file


def folder_of(*sources: Path) -> Path:
    """The folder as a new process finds it."""
    kernel_folder.cache_clear()
    folder = kernel_folder(*sources)
    assert folder is not None
    return folder


def let_pass(folder: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(folder, (then, then))


def test_the_same_sources_keep_their_folder(source: Path) -> None:
    folder = folder_of(source)
    let_pass(folder, 2 * IN_USE_SECONDS)
    assert folder_of(source) == folder
    assert folder.is_dir()


def test_a_new_state_clears_the_folders_of_old_ones(source: Path) -> None:
    old = folder_of(source)
    (old / "code.nbc").write_text("compiled")
    let_pass(old, 2 * IN_USE_SECONDS)
    source.write_text("second")
    new = folder_of(source)
    assert new != old
    assert new.is_dir()
    assert not old.exists()


def test_a_folder_that_a_running_process_may_use_stays(source: Path) -> None:
    old = folder_of(source)
    source.write_text("second")
    folder_of(source)
    assert old.is_dir()


def test_folders_of_other_sources_stay(source: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "another" / "source.py"
    elsewhere.parent.mkdir()
    elsewhere.write_text("first")
    other = folder_of(elsewhere)
    let_pass(other, 2 * IN_USE_SECONDS)
    folder_of(source)
    source.write_text("second")
    folder_of(source)
    assert other.is_dir()
