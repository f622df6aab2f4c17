"""Stops of every kind: what is finished stays, and the end result is that of an undisturbed run."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from small_run import contents, make_data, start_certify

from dsrs.runs.schema import STORE_NAME

WAIT_SECONDS = 120  # only a hanging process reaches it


def finished(folder: Path) -> int:
    """How many inputs a run has, seen from outside while it is written."""
    store = folder / STORE_NAME
    if not store.exists():
        return 0
    connection = sqlite3.connect(f"{store.resolve().as_uri()}?mode=ro", uri=True, timeout=10)
    try:
        return int(connection.execute("SELECT count(*) FROM input").fetchone()[0])
    except sqlite3.OperationalError:
        return 0  # a cut transaction waits for the next writer to undo it
    finally:
        connection.close()


def wait_for(process: subprocess.Popen[str], folder: Path, inputs: int) -> None:
    """Until the run has so many inputs, or has ended."""
    deadline = time.monotonic() + WAIT_SECONDS
    while process.poll() is None and finished(folder) < inputs:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def end(process: subprocess.Popen[str], number: signal.Signals | None = None) -> tuple[int, str]:
    """Its exit code and what it wrote to standard error, after this signal or by itself."""
    if number is not None:
        process.send_signal(number)
    _, err = process.communicate(timeout=WAIT_SECONDS)
    return process.returncode, err


def kill_and_continue(folder: Path, kills: int, inputs: int, seed: int) -> None:
    """Kill a run again and again at random moments; at the end compare it with a whole one."""
    make_data(folder / "data.npz", inputs)
    generator = random.Random(seed)
    killed = 0
    for number in range(kills):
        process = start_certify(folder, "killed")
        # Some before the first new input (start-up, creation of the store), most while it writes.
        before = finished(folder / "killed")
        if number % 4 != 3:
            wait_for(process, folder / "killed", before + 1)
        time.sleep(generator.uniform(0, 0.15))
        killed += end(process, signal.SIGKILL)[0] == -signal.SIGKILL
        assert finished(folder / "killed") >= before
    assert killed == kills  # otherwise the run was too short to be disturbed
    assert end(start_certify(folder, "killed"))[0] == 0
    assert end(start_certify(folder, "whole"))[0] == 0
    assert len(contents(folder / "whole")) == inputs
    assert contents(folder / "killed") == contents(folder / "whole")


def test_three_kills_leave_the_same_run(tmp_path: Path) -> None:
    kill_and_continue(tmp_path, kills=3, inputs=24, seed=1)


@pytest.mark.slow
def test_twenty_kills_leave_the_same_run(tmp_path: Path) -> None:
    kill_and_continue(tmp_path, kills=20, inputs=160, seed=2)


def test_ctrl_c_keeps_what_is_finished_and_says_so(tmp_path: Path) -> None:
    make_data(tmp_path / "data.npz", 40)
    process = start_certify(tmp_path, "run")
    wait_for(process, tmp_path / "run", 2)
    code, err = end(process, signal.SIGINT)
    assert code == 130
    assert "everything finished so far is kept" in err
    assert "Traceback" not in err
    kept = contents(tmp_path / "run")
    assert 2 <= len(kept) < 40
    assert end(start_certify(tmp_path, "run", "--stop", str(len(kept) + 1)))[0] == 0
    assert contents(tmp_path / "run")[: len(kept)] == kept


def test_a_second_process_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    make_data(tmp_path / "data.npz", 40)
    first = start_certify(tmp_path, "run")
    wait_for(first, tmp_path / "run", 1)
    code, err = end(start_certify(tmp_path, "run"))
    assert code == 2
    assert "another process is writing to run" in err
    assert first.poll() is None
    assert end(first)[0] == 0
    assert [row[0] for row in contents(tmp_path / "run")] == list(range(40))
