"""A new executor is one file and one line: the command line counts with it by its address."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from single_thread import SingleThread

from dsrs.cli.main import main
from dsrs.store import open_run
from dsrs.votes.executors import register, registry

MODEL = """
def bright(batch):
    return (batch.mean(axis=(1, 2, 3)) > 0.5).astype(int)
"""


def test_it_counts_the_votes_that_threads_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "SCHEMES", {**registry.SCHEMES})
    register("alone", SingleThread)
    Path("alone_model.py").write_text(MODEL)
    images = np.stack([np.full((4, 4), level, np.float32) for level in (0.2, 0.9, 0.6)])
    np.savez("data.npz", images=images, labels=[0, 1, 1])
    words = ["certify", "--model", "alone_model:bright", "--num-classes", "2", "--n", "300"]
    words += ["--data", "data.npz", "--sigma", "0.5"]
    before = SingleThread.opened
    assert main([*words, "--output", "alone", "--cluster", "alone://here"]) == 0
    assert SingleThread.opened == before + 1
    assert "alone_model:bright at alone://here" in capsys.readouterr().err
    assert main([*words, "--output", "threads", "--quiet", "--workers", "2"]) == 0
    votes = []
    for name in ("alone", "threads"):
        with open_run(name) as run:
            votes.append([(one.votes, one.certificates) for one in run.results()])
    assert votes[0] == votes[1]
    assert len(votes[0]) == 3
    # Every verb that reads a run reads this one.
    assert main(["show", "alone"]) == 0
    assert main(["export", "alone"]) == 0
