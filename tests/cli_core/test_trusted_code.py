"""No folder and no file runs Python code, unless the user said so."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from dsrs.cli.main import main
from dsrs.store import STORE_NAME, checksum_of

EVIL = """
from pathlib import Path
import numpy as np
Path("RAN").touch()

def net(batch):
    mean = batch.mean(axis=1)
    return np.stack([0.5 - mean, mean - 0.5], axis=1)
"""
CONFIG = 'model = "evil.py:net"\ndata = "data.npz"\nsigma = 0.5\nn = 60\nq = ["none"]\n'
FROM_FOLDERS = [
    "attack run --quiet --budget 5000",
    "check run --quiet --votes 1",
    "certify --config run/run.toml --output again --quiet",
    "certify --config my.toml --output again --quiet",
    "certify --config self.toml --output again --quiet",
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose model is Python code."""
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", images=np.full((2, 4), 0.9, dtype=np.float32), labels=[1, 1])
    Path("evil.py").write_text(EVIL)
    Path("my.toml").write_text(CONFIG)
    Path("self.toml").write_text(CONFIG + "trust-code = true\n")
    words = "certify --model evil.py:net --data data.npz --sigma 0.5 --n 60 --q none --output run"
    assert main([*words.split(), "--quiet"]) == 0
    Path("RAN").unlink()
    return tmp_path


@pytest.mark.parametrize("command", FROM_FOLDERS)
def test_code_that_a_folder_or_a_file_names_is_not_run(
    place: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == 2
    said = capsys.readouterr().err
    assert "`trust-code` is no option" in said if "self" in command else "--trust-code" in said
    assert not (place / "RAN").exists()


@pytest.mark.parametrize("command", FROM_FOLDERS[:-1])
@pytest.mark.parametrize("said", ["--trust-code", "--model evil.py:net"])
def test_it_is_run_where_the_user_says_so(place: Path, command: str, said: str) -> None:
    assert main([*command.split(), *said.split()]) == 0
    assert (place / "RAN").exists()


def test_an_ensemble_with_code_is_refused_too(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with sqlite3.connect(place / "run" / STORE_NAME) as connection:
        (text,) = connection.execute("SELECT config FROM run").fetchone()
        whole = f'"{(place / "evil.py").resolve()}:net"'
        assert whole in text
        changed = text.replace(whole, f'["a.onnx", {whole}]')
        connection.execute(
            "UPDATE run SET config = ?, checksum = ?", (changed, checksum_of(changed))
        )
    connection.close()
    assert main(["attack", "run"]) == 2
    assert "--trust-code" in capsys.readouterr().err
    assert not (place / "RAN").exists()


def test_a_file_may_not_name_a_cluster(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("my.toml").write_text(CONFIG + 'cluster = "ray://stranger:10001"\n')
    words = "certify --config my.toml --model evil.py:net --output again"
    assert main(words.split()) == 2
    assert "--cluster" in capsys.readouterr().err
