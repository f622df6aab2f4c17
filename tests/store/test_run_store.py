"""The run store: what goes in comes out, and what is damaged, foreign or newer is refused."""

from __future__ import annotations

import copy
import json
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dsrs.errors import StoreCorrupted, StoreError, StoreMismatch, StoreTooNew
from dsrs.store import FORMAT_VERSION, STORE_NAME, RunResult, open_run, start_run

MakeResult = Callable[..., RunResult]


def test_results_come_back_unchanged(run_folder: Path, make_result: MakeResult) -> None:
    with open_run(run_folder) as run:
        found = list(run.results())
        assert run.indices() == [result.index for result in found] == list(range(0, 99, 11))
        assert len(run) == 9
        assert run.plan.n == 1000
        assert run.result(11) == found[1]
    assert found == [make_result(index) for index in range(0, 99, 11)]


def test_a_run_is_continued_and_its_sessions_are_known(
    run_folder: Path, config: dict[str, Any], make_result: MakeResult
) -> None:
    with start_run(run_folder, config) as writer:
        assert writer.finished() == set(range(0, 99, 11))
        writer.add(make_result(5))
        with open_run(run_folder) as run:  # a reader sees what is finished while it is written
            assert run.result(5) == make_result(5)
            assert len(run.sessions) == 2
            assert "numpy" in run.sessions[1]["versions"]


def test_one_result_is_not_added_twice(
    run_folder: Path, config: dict[str, Any], make_result: MakeResult
) -> None:
    with start_run(run_folder, config) as writer:
        with pytest.raises(StoreError, match="already holds"):
            writer.add(make_result(11))
        writer.add(make_result(12))
    with open_run(run_folder) as run:
        assert len(run) == 10


@pytest.mark.parametrize(
    ("place", "value", "named"),
    [
        (("plan", "alpha"), 0.01, "plan.alpha: stored 0.001, given 0.01"),
        (("plan", "law", "sigma"), 0.25, "plan.law.sigma: stored 0.5, given 0.25"),
        (("plan", "seed"), 7, "plan.seed: stored 0, given 7"),
        (("model", "fingerprint"), "m2", "model.fingerprint: stored 'm1', given 'm2'"),
        (("data", "fingerprint"), "d2", "data.fingerprint: stored 'd1', given 'd2'"),
        (("data", "labels"), False, "data.labels: stored True, given False"),
        (("device",), "cuda", "device: stored 'cpu', given 'cuda'"),
    ],
)
def test_other_settings_are_named(
    run_folder: Path, config: dict[str, Any], place: tuple[str, ...], value: Any, named: str
) -> None:
    changed = copy.deepcopy(config)
    section = changed
    for key in place[:-1]:
        section = section[key]
    section[place[-1]] = value
    before = (run_folder / STORE_NAME).read_bytes()
    with pytest.raises(StoreMismatch) as caught:
        start_run(run_folder, changed)
    assert named in str(caught.value)
    assert str(caught.value).count("stored ") == 2  # the one difference, and the advice
    assert (run_folder / STORE_NAME).read_bytes() == before


def test_names_and_versions_may_change(run_folder: Path, config: dict[str, Any]) -> None:
    config["model"]["description"] = "the same bytes under another name"
    config["versions"] = {"dsrs": "0.2.0"}
    start_run(run_folder, config).close()


def test_a_second_writer_is_refused_and_a_later_one_is_not(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    with (
        start_run(tmp_path / "run", config),
        pytest.raises(StoreError, match="another process is writing"),
    ):
        start_run(tmp_path / "run", config)
    start_run(tmp_path / "run", config).close()


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path, config: dict[str, Any]) -> None:
    program = (
        "import json, os, signal, sys\n"
        "from dsrs.store import start_run\n"
        "start_run(sys.argv[1], json.loads(sys.argv[2]))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    folder = tmp_path / "run"
    arguments = [sys.executable, "-c", program, str(folder), json.dumps(config)]
    assert subprocess.run(arguments, check=False).returncode == -9
    start_run(folder, config).close()


def test_a_cut_transaction_is_undone(
    run_folder: Path, config: dict[str, Any], make_result: MakeResult
) -> None:
    program = (
        "import os, signal, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute('PRAGMA cache_size = 1')\n"
        "connection.execute('BEGIN')\n"
        "connection.execute('DELETE FROM certificate')\n"
        "connection.execute('UPDATE input SET thumbnail = zeroblob(100000)')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(run_folder / STORE_NAME)], check=False)
    assert (run_folder / f"{STORE_NAME}-journal").exists()  # the transaction had reached the disk
    with open_run(run_folder) as run:
        assert list(run.results()) == [make_result(index) for index in range(0, 99, 11)]


def test_a_newer_format_is_refused(run_folder: Path, config: dict[str, Any]) -> None:
    connection = sqlite3.connect(run_folder / STORE_NAME)
    connection.execute(f"PRAGMA user_version = {FORMAT_VERSION + 1}")
    connection.close()
    with pytest.raises(StoreTooNew, match="upgrade"):
        open_run(run_folder)
    with pytest.raises(StoreTooNew, match="upgrade"):
        start_run(run_folder, config)


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"not a database" * 100])
def test_a_file_that_is_no_store_is_refused(
    run_folder: Path, config: dict[str, Any], content: bytes
) -> None:
    (run_folder / STORE_NAME).write_bytes(content)
    for use in (lambda: open_run(run_folder), lambda: start_run(run_folder, config)):
        with pytest.raises(StoreCorrupted, match="damaged"):
            use()
    assert (run_folder / STORE_NAME).read_bytes() == content


def test_a_foreign_database_is_refused(run_folder: Path) -> None:
    (run_folder / STORE_NAME).unlink()
    connection = sqlite3.connect(run_folder / STORE_NAME)
    connection.execute("CREATE TABLE run (config TEXT)")
    connection.close()
    with pytest.raises(StoreCorrupted, match="not of a dsrs run"):
        open_run(run_folder)


def test_damage_anywhere_is_found(run_folder: Path, make_result: MakeResult) -> None:
    """Cut or overwrite the store at random places: never another answer than the right one."""
    store = run_folder / STORE_NAME
    whole = store.read_bytes()
    expected = [make_result(index) for index in range(0, 99, 11)]
    generator = random.Random(1)
    refused = 0
    for trial in range(60):
        damaged = bytearray(whole)
        place = generator.randrange(len(whole))
        if trial % 3 == 0:
            del damaged[place:]
        else:
            damaged[place : place + 64] = generator.randbytes(min(64, len(whole) - place))
        store.write_bytes(damaged)
        try:
            with open_run(run_folder) as run:
                found = list(run.results())
        except StoreError:
            refused += 1
        else:
            assert found == expected  # the damage fell on free space
    assert refused > 30


def test_a_changed_number_is_found(run_folder: Path) -> None:
    connection = sqlite3.connect(run_folder / STORE_NAME)
    connection.execute("UPDATE certificate SET radius = radius * 2 WHERE idx = 11")
    connection.commit()
    connection.close()
    with open_run(run_folder) as run:
        run.result(22)
        with pytest.raises(StoreCorrupted, match="checksum of input 11"):
            run.result(11)


def test_folders_that_cannot_be_used(tmp_path: Path, config: dict[str, Any]) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("text")
    with pytest.raises(StoreError, match="is a file"):
        start_run(tmp_path / "file", config)
    with pytest.raises(StoreError, match=r"not empty .* notes\.txt"):
        start_run(tmp_path / "full", config)
    with pytest.raises(StoreError, match="cannot be created"):
        start_run(tmp_path / "file" / "run", config)
    with pytest.raises(StoreError, match="does not exist"):
        open_run(tmp_path / "none")
    with pytest.raises(StoreError, match="holds no run"):
        open_run(tmp_path / "full")
    assert sorted(item.name for item in tmp_path.rglob("*")) == ["file", "full", "notes.txt"]
