"""`dsrs certify --cluster local`: a cluster of its own, for one run."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from dsrs.cli.main import main
from dsrs.store import open_run
from votes import voters

pytest.importorskip("ray", reason="Ray is not installed: pip install 'dsrs[ray]'")
# Ray warns of its own coming changes and leaves sockets to the garbage collector.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def contents(path: str) -> list[tuple[object, ...]]:
    with open_run(path) as run:
        return [(one.index, one.votes, one.certificates, one.queries) for one in run.results()]


def test_the_command_counts_on_a_cluster_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The model is a module of the working directory, which the actors find as well."""
    monkeypatch.chdir(tmp_path)
    images = np.random.default_rng(0).random((4, 16), dtype=np.float32)
    np.savez("data.npz", images=images, labels=np.ones(4, dtype=np.int64))
    shutil.copy(voters.__file__, "mine.py")
    words = ["certify", "--model", "mine:bright", "--num-classes", "2", "--n", "2000"]
    words += ["--data", "data.npz", "--sigma", "0.5", "--batch-size", "32"]
    assert main([*words, "--output", "threads"]) == 0
    assert main([*words, "--output", "cluster", "--cluster", "local"]) == 0
    assert contents("cluster") == contents("threads")
    assert "votes/s" in capfd.readouterr().err
    # Nothing is left to do, so no cluster is started: this one does not exist.
    assert main([*words, "--output", "cluster", "--cluster", "127.0.0.1:1"]) == 0
    Path("mine.py").write_text(Path("mine.py").read_text() + "# another model\n")
    assert main([*words, "--output", "cluster", "--cluster", "local"]) == 2
    assert "model.fingerprint" in capfd.readouterr().err


def test_options_that_do_not_go_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", images=np.zeros((2, 16), np.float32))
    words = ["certify", "--model", "voters:bright", "--num-classes", "2", "--data", "data.npz"]
    words += ["--sigma", "0.5", "--output", "run"]
    assert main([*words, "--cluster", "local", "--workers", "2"]) == 2
    assert "--cluster has actors instead" in capsys.readouterr().err
    assert main([*words, "--threads-per-actor", "2"]) == 2
    assert "--threads-per-actor goes with --cluster" in capsys.readouterr().err
    assert main([*words, "--cluster", "local", "--threads-per-actor", "0"]) == 2
    assert "--threads-per-actor must be from 1" in capsys.readouterr().err
    assert not Path("run").exists()
