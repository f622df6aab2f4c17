"""Random invocations of every command: no traceback, and nothing lost, half-written or replaced.

Each draws options of one command and values that people and attackers give. What ends with exit
code 2 must have changed nothing; no file that was there before may ever change.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrs.certifying import certify_run
from dsrs.classifiers import from_callable
from dsrs.cli import Option
from dsrs.cli.main import known_commands, main
from dsrs.datasets import Dataset
from dsrs.files import UNFINISHED
from dsrs.methods import Plan
from dsrs.store import wide_law

# Commands that would work for long: they take hardly a word.
LEFT_OUT = {"demo"}
WORDS = [
    *("", " ", "0", "1", "-1", "2", "0.5", "-0.0", "1e300", "1e-300", "nan", "inf", "1" + "0" * 23),
    *("0.9", "1.5", "truncated:0.8", "truncated:heuristic", "rescaled:0.8x", "rescaled:0", "none"),
    *("weighted:1:0,2:-1", "truncated:T=", "np", "tailored", "x" * 300, "../..", ".", "/", "~"),
    *("data.npz", "run", "run/run.sqlite", "table.csv", "certificate.json", "notes.txt", "new"),
    *("new/inner", "new.csv", "new.html", "new.png", "new.json", "missing.npz", "fuzz_model:f"),
    *("fuzz_model:raises", "fuzz_model:odd", "fuzz_model:nothing", "cut.onnx", "link", "folder"),
    *("good.toml", "bad.toml"),
    *("5/10", "10/5", "/", "1,2", "0:1:0.5", "caf\u00e9", "\x1b[31m", "=cmd|x", "--", "-n", "%s%n"),
]
SOUND = {
    **{"--n": "32", "--n0": "8", "--votes": "32", "--samples": "64", "--search-samples": "32"},
    **{"--resamples": "100", "--workers": "1", "--sigma": "0.5", "--d": "16", "--num-classes": "2"},
    **{"--model": "fuzz_model:f", "--data": "data.npz", "--output": "new", "--epochs": "1"},
    **{"--p": "0.9", "--alpha": "0.01", "--q": "truncated:0.8", "--seed": "3"},
    **{"--config": "good.toml", "--landscape": "look"},
    **{"--budget": "600", "--inputs": "2", "parts": "run"},
    **{"run_folder": "run", "runs": "run", "source": "run", "file": "table.csv"},
}
# Without these a command would work for long, or hardly ever work.
ALWAYS = (
    *("--landscape", "--inputs", "--sigma", "--num-classes", "--budget"),
    *("--n", "--votes", "--samples", "--search-samples", "--resamples", "--epochs", "--workers"),
)
CERTIFY = [
    *("certify", "--model", "fuzz_model:f", "--num-classes", "2", "--data", "data.npz"),
    *("--indices", "0,1", "--sigma", "0.5", "--n", "32", "--q", "none", "--grid", "none"),
    *("--batch-size", "16"),
    *("--output", "run", "--quiet", "--workers", "1"),
]
MODEL = """
import numpy as np
def f(batch): return np.stack([batch.mean(axis=(1, 2, 3)), np.full(len(batch), 0.5, "f4")], 1)
def raises(batch): raise RuntimeError("no\\nway")
def odd(batch): return [[1, 2]]
nothing = None
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that a command may find, and lose."""
    folder = tmp_path_factory.mktemp("prepared")
    images = np.random.default_rng(0).random((3, 1, 4, 4), dtype=np.float32)
    images[0], images[1] = 0.9, 0.1  # so that something is certified
    np.savez(folder / "data.npz", images=images, labels=[0, 1, 0])
    model = from_callable(
        lambda batch: (batch.mean(axis=(1, 2, 3)) > 0.5).astype(int), (1, 4, 4), 2
    )
    data = Dataset.from_arrays(images, [0, 1, 0])
    (folder / "fuzz_model.py").write_text(MODEL)
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert main(CERTIFY) == 0
    finally:
        os.chdir(before)
    wide = Plan(wide_law(16, 0.5), ("np",), n=64)
    certify_run(model, data, wide, [0, 1], folder / "look", workers=1)
    (folder / "good.toml").write_text('sigma = 0.5\nq = ["none"]\nalpha = 0.01\n')
    (folder / "bad.toml").write_text("sigma = {}\n[run]\nsgima = 1\n")
    (folder / "notes.txt").write_text("the only copy")
    (folder / "cut.onnx").write_bytes(b"\x08\x07\x12")
    (folder / "table.csv").write_text(
        "index,d,k,sigma,p_lower,p_upper\n0,16,0,0.5,0.9,1\n1,x,,,,\n"
    )
    (folder / "certificate.json").write_text(json.dumps({"radius": 1}))
    (folder / "folder").mkdir()
    (folder / "link").symlink_to("notes.txt")
    return folder


def commands() -> dict[str, list[Option]]:
    """The options of each command, by its words."""
    found = {command.name.removeprefix("dsrs "): command for command in known_commands().leaves()}
    return {
        words: command.all_options()
        for words, command in found.items()
        if words.split()[-1] not in LEFT_OUT
    }


def invocation(options: list[Option], generator: random.Random) -> list[str]:
    """Options of one command: the needed ones and a few others, most with small sound values."""
    words: list[str] = []
    for option in options:
        optional = option.named and not option.required
        if option.name == "--watch" or (optional and generator.random() > 0.08):
            continue  # to watch has no end
        words += [option.name] * option.named
        if option.action == "store_true":
            continue
        for _ in range(option.nargs if isinstance(option.nargs, int) else 1):
            if option.choices and generator.random() < 0.9:
                words.append(generator.choice(list(option.choices)))
            elif option.name in SOUND and generator.random() < 0.8:
                words.append(SOUND[option.name])
            else:
                words.append(generator.choice(WORDS))
    names = {option.name for option in options}
    for name in sorted(names & set(ALWAYS) - set(words)):
        words += [name, SOUND[name]]
    return words


def contents(folder: Path) -> dict[str, str]:
    """What is in a folder: a hash of each file, the target of each link."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if "__pycache__" in name:
            continue
        if path.is_symlink():
            found[name] = f"link {os.readlink(path)}"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = "folder"
    return found


def run(words: list[str]) -> int:
    """The exit code; an exception is a traceback that a person would have seen."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    shown = out.getvalue() + err.getvalue()
    assert "Traceback" not in err.getvalue() or "--verbose" in words
    assert "\x1b[31m" not in shown, "a control sequence reached the terminal"
    if code == 2:
        assert err.getvalue().strip(), "refused without a word"
    return code


def try_invocations(
    prepared: Path, folder: Path, seed: int, count: int, without: tuple[str, ...] = ()
) -> dict[int, int]:
    """Run so many; count the exit codes."""
    generator = random.Random(seed)
    known = commands()
    names = sorted(set(known) - set(without))
    codes: dict[int, int] = {}
    for number in range(count):
        name = names[number % len(names)]
        words = [*name.split(), *invocation(known[name], generator)]
        place = folder / str(number)
        shutil.copytree(prepared, place, symlinks=True)
        os.chdir(place)
        before = contents(place)
        try:
            code = run(words)
        except BaseException as error:
            raise AssertionError(f"seed {seed}, number {number}: {words}") from error
        after = contents(place)
        told = f"seed {seed}, number {number}, exit {code}: {words}"
        assert code in (0, 1, 2, 3), told  # 3: a check decided nothing
        assert not [path for path in after if UNFINISHED in path], f"half-written: {told}"
        owned = {
            "run",
            "run/run.sqlite",
            "run/writer.lock",
            "run/run.toml",
        }  # a run may be continued
        changed = {path for path in before if after.get(path) != before[path]} - owned
        assert "--overwrite" in words or not changed, f"{changed} changed: {told}"
        if code == 2:
            made = set(after) - set(before)
            assert not made, f"{made} left behind: {told}"
        codes[code] = codes.get(code, 0) + 1
        os.chdir(folder)
        shutil.rmtree(place)
    return codes


def test_a_sample_of_invocations(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    codes = try_invocations(prepared, tmp_path, seed=1, count=72, without=("train",))
    assert codes[2] > 20  # most are refused, and some are not
    assert codes.get(0, 0) > 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 10))
def test_many_invocations(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.chdir(tmp_path)
    try_invocations(prepared, tmp_path, seed, count=400)


def test_the_fuzzer_sees_what_it_looks_for(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def careless(argv: list[str]) -> int:
        Path("notes.txt").write_text("gone")
        print("refused", file=sys.stderr)
        return 2

    def raising(argv: list[str]) -> Any:
        raise ZeroDivisionError

    for broken, message in ((careless, r"'notes\.txt'.* changed"), (raising, "seed 3, number 0")):
        monkeypatch.setattr(f"{__name__}.main", broken)
        with pytest.raises(AssertionError, match=message):
            try_invocations(prepared, tmp_path / broken.__name__, seed=3, count=1)
