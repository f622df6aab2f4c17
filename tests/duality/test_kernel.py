"""Interpreted at once, compiled where it pays: what is chosen when, and that nobody notices."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsrs.duality import kernel
from dsrs.errors import InvalidInput
from duality.toy_kernels import squared, sum_of_squares

TOYS = {kernel_ for kernel_, name in kernel._kernels.items() if "toy" in name}
RIGHT = sum(i * i for i in range(50))


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The mechanism as a new process finds it, with an empty cache; the old state comes back."""
    for name, value in (("_compiled", {}), ("_compiler", None), ("_failed", False)):
        monkeypatch.setattr(kernel, name, value)
    monkeypatch.setattr(kernel, "_next_poll", 0.0)
    monkeypatch.setattr(kernel, "cache_folder", lambda: tmp_path)
    monkeypatch.setenv(kernel.SWITCH, "auto")
    # The toys alone: nothing else has to be compiled.
    toys = {kernel_: name for kernel_, name in kernel._kernels.items() if "toy" in name}
    monkeypatch.setattr(kernel, "_kernels", toys)
    yield tmp_path
    if kernel._compiler is not None:
        kernel._compiler.kill()
        kernel._compiler.wait()


def starting(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code])


def test_little_work_is_interpreted(fresh: Path) -> None:
    assert kernel.prepare(kernel.WORTH_COMPILING - 1) == "interpreted"
    assert sum_of_squares(50) == RIGHT


def test_a_complete_cache_is_used_where_it_pays(fresh: Path) -> None:
    (fresh / kernel.COMPLETE).touch()
    assert kernel.prepare(kernel.WORTH_LOADING - 1) == "interpreted"
    assert kernel.prepare(kernel.WORTH_LOADING) == "compiled"
    assert sum_of_squares(50) == RIGHT
    assert list(fresh.rglob("*sum_of_squares*.nbc"))
    assert not list(fresh.rglob("*squared*.nbc")), "the code of an entry holds its kernels"


def test_much_work_is_compiled_beside_it(
    fresh: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "dsrs")
    go, mark = fresh / "go", fresh / kernel.COMPLETE
    code = (
        "import pathlib, time\n"
        f"while not pathlib.Path({str(go)!r}).exists(): time.sleep(0.01)\n"
        f"pathlib.Path({str(mark)!r}).touch()"
    )
    monkeypatch.setattr(kernel, "_start_compiler", lambda: starting(code))
    assert kernel.prepare(kernel.WORTH_COMPILING) == "compiling"
    assert kernel.prepare(10 * kernel.WORTH_COMPILING) == "compiling"
    assert sum_of_squares(50) == RIGHT
    assert kernel.mode() == "compiling"
    go.touch()
    assert kernel._compiler is not None
    kernel._compiler.wait()
    monkeypatch.setattr(kernel, "_next_poll", 0.0)
    assert sum_of_squares(50) == RIGHT
    assert kernel.mode() == "compiled"
    (told,) = caplog.messages
    assert "compiling kernels in another process" in told


def test_a_compiler_that_fails_is_reported_and_not_tried_again(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_start_compiler", lambda: starting("raise SystemExit(3)"))
    kernel.prepare(kernel.WORTH_COMPILING)
    assert kernel._compiler is not None
    kernel._compiler.wait()
    with pytest.warns(RuntimeWarning, match="exit code 3"):
        assert sum_of_squares(50) == RIGHT
    assert kernel.prepare(kernel.WORTH_COMPILING) == "interpreted"


def test_without_a_folder_the_process_compiles_for_itself(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "cache_folder", lambda: None)
    assert kernel.prepare(kernel.WORTH_COMPILING) == "compiled"
    assert sum_of_squares(50) == RIGHT


def filling(folder: Path) -> str:
    """The code of a process that fills a cache and marks it."""
    return f"import pathlib; pathlib.Path({str(folder / kernel.COMPLETE)!r}).touch()"


def test_what_is_compiled_once_is_loaded_without_a_word_the_next_time(
    fresh: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "dsrs")
    monkeypatch.setattr(kernel, "_start_compiler", lambda: starting(filling(fresh)))
    kernel.compile_kernels()
    assert kernel.mode() == "compiled"
    assert caplog.messages == ["compiling kernels; once per version"]
    monkeypatch.setattr(kernel, "_compiled", {})  # as another process starts
    kernel.compile_kernels()
    assert len(caplog.messages) == 1
    assert sum_of_squares(50) == RIGHT


def test_where_the_compiler_fails_the_process_compiles_for_itself(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_start_compiler", lambda: starting("raise SystemExit(3)"))
    kernel.compile_kernels()
    assert sum_of_squares(50) == RIGHT
    assert not kernel.is_complete(fresh)


def test_a_cache_is_marked_only_when_every_entry_is_in_it(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_entries", {each for each in kernel._entries if each in TOYS})
    kernel.compile_here(fresh)
    with pytest.raises(RuntimeError, match="sum_of_squares"):
        kernel.mark_complete(fresh)
    assert not kernel.is_complete(fresh)
    assert sum_of_squares(50) == RIGHT
    kernel.mark_complete(fresh)
    assert kernel.is_complete(fresh)


@pytest.mark.slow
def test_the_command_that_fills_the_cache_compiles_every_entry(tmp_path: Path) -> None:
    environment = os.environ | {"DSRS_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-m", "dsrs.proofs.compiling"], env=environment, check=True)
    assert len(list(tmp_path.rglob(kernel.COMPLETE))) == 1


def test_threads_may_call_while_kernels_switch(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_start_compiler", lambda: starting(filling(fresh)))
    wrong: list[object] = []
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            try:
                if sum_of_squares(50) != RIGHT:
                    wrong.append("a wrong sum")
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    kernel.compile_kernels()
    assert sum_of_squares(50) == RIGHT
    time.sleep(0.1)
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert kernel.mode() == "compiled"


def test_the_switch_overrules(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernel.SWITCH, "interpreted")
    (fresh / kernel.COMPLETE).touch()
    assert kernel.prepare(10**6) == "interpreted"
    monkeypatch.setenv(kernel.SWITCH, "compiled")
    assert sum_of_squares(50) == RIGHT
    assert kernel.mode() == "compiled"
    monkeypatch.setenv(kernel.SWITCH, "perhaps")
    monkeypatch.setattr(kernel, "_compiled", {})
    with pytest.raises(InvalidInput, match="perhaps"):
        sum_of_squares(50)


def test_a_kernel_stays_an_ordinary_function() -> None:
    assert squared(3.0) == 9.0


def test_ctrl_c_ends_the_compiler_without_a_word(tmp_path: Path) -> None:
    """Ctrl-C goes to the whole process group, as a terminal sends it."""
    code = """
import time
from dsrs.duality import bound, kernel, radius
assert kernel.prepare(kernel.WORTH_COMPILING) == "compiling"
print(kernel._compiler.pid, flush=True)
try:
    time.sleep(60)
except KeyboardInterrupt:
    print(kernel._compiler.wait(30))
"""
    environment = os.environ | {"DSRS_CACHE_DIR": str(tmp_path), "DSRS_KERNELS": "auto"}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
        # Whoever runs the tests in the background may ignore Ctrl-C, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    compiler = int(process.stdout.readline())
    time.sleep(1.0)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert int(out) != 0, "the compiler was ended"
    assert not Path(f"/proc/{compiler}").exists()
    assert err == ""
