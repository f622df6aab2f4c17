"""Stops of every kind: what is finished stays, and the end result is that of an undisturbed run."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from cli_certify.small_run import Certify, contents, make_data, start_certify
from dsrs.store import STORE_NAME

SLOW = ("--model", "tiny_classifier:slow")
WAIT_SECONDS = 120  # only a hanging process reaches it


def finished(folder: Path, mode: str = "ro") -> int:
    """How many inputs a run has, seen from outside while it is written (ro) or after (rw)."""
    store = folder / STORE_NAME
    if not store.exists():
        return 0
    connection = sqlite3.connect(f"{store.resolve().as_uri()}?mode={mode}", uri=True, timeout=10)
    try:
        return int(connection.execute("SELECT count(*) FROM input").fetchone()[0])
    except sqlite3.OperationalError:
        if mode == "rw":
            raise
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


def kill_and_continue(certify: Certify, kills: int, inputs: int, seed: int) -> None:
    """Kill a run again and again at random moments; at the end compare it with a whole one."""
    folder = Path.cwd()
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
        if (folder / "killed" / STORE_NAME).exists():
            assert finished(folder / "killed", "rw") >= before
    assert killed == kills  # otherwise the run was too short to be disturbed
    assert certify(*SLOW, output="killed") == 0
    assert certify(*SLOW, output="whole") == 0
    assert len(contents(folder / "whole")) == inputs
    assert contents(folder / "killed") == contents(folder / "whole")


def test_three_kills_leave_the_same_run(certify: Certify) -> None:
    kill_and_continue(certify, kills=3, inputs=40, seed=1)


@pytest.mark.slow
def test_twenty_kills_leave_the_same_run(certify: Certify) -> None:
    kill_and_continue(certify, kills=20, inputs=600, seed=2)


def test_a_second_process_is_refused_and_ctrl_c_keeps_what_is_finished(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path.cwd()
    make_data(folder / "data.npz", 400)
    first = start_certify(folder, "run")
    wait_for(first, folder / "run", 2)
    assert certify(*SLOW) == 2
    assert "another process is writing to run" in capsys.readouterr().err
    assert first.poll() is None
    code, err = end(first, signal.SIGINT)
    assert code == 130
    assert "everything finished so far is kept" in err
    assert "Traceback" not in err
    kept = contents(folder / "run")
    assert 2 <= len(kept) < 400
    # Several inputs are in work at once: one may have been finished before its predecessor.
    indices = [int(str(entry[0])) for entry in kept]
    assert certify(*SLOW, "--stop", str(max(indices) + 2)) == 0
    after = contents(folder / "run")
    assert [entry for entry in after if entry[0] in indices] == kept
    assert [entry[0] for entry in after] == list(range(max(indices) + 2))
