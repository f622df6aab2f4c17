"""Is a certificate about this model and this input, and did the model give these votes?"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flint")

from audit.small_runs import INPUTS, classify, rewrite
from dsrs.audit.run_folder import RunFolder
from dsrs.certifying.votes_again import retake_votes
from dsrs.classifiers import from_callable
from dsrs.cli.main import main
from dsrs.datasets import Dataset
from dsrs.errors import StoreMismatch

SOURCE = ("--model", "audit.small_runs:classify", "--num-classes", "3")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of `dsrs certify`, with its data and the certificate of one input beside it."""
    found = tmp_path_factory.mktemp("subject")
    images = INPUTS.reshape(-1, 1, 4, 4)
    np.savez(found / "data.npz", images=images, labels=classify(images))
    np.save(found / "one.npy", images[1])
    np.save(found / "other.npy", images[2])
    words = ["--data", str(found / "data.npz"), "--sigma", "0.5", "--n", "200", "--quiet"]
    assert main(["certify", *SOURCE, *words, "--output", str(found / "run")]) == 0
    certificate = RunFolder(found / "run").certificate(1, "np")
    assert certificate["radius"] > 0
    (found / "one.json").write_text(json.dumps(certificate))
    return found


def test_votes_taken_again_are_the_stored_ones(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(folder / "run"), "--votes", "2", "--quiet", *SOURCE]) == 0
    said = capsys.readouterr().out
    assert said.count("votes are the stored ones") == 2
    assert main(["check", str(folder / "run"), "--votes", "9", "--quiet", "--json", *SOURCE]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["index"] for one in found["votes"]] == [0, 1, 2]


def test_votes_that_the_model_did_not_give_are_found(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import shutil

    shutil.copytree(folder / "run", tmp_path / "run")
    # The same numbers of votes, but some of the certified class are now in other radial bins.
    import sqlite3

    with sqlite3.connect(tmp_path / "run" / "run.sqlite") as store:
        (body,) = store.execute("SELECT body FROM votes WHERE idx = 1 AND position = 0").fetchone()
        votes = json.loads(body)
        votes["trials"] = votes["trials"][::-1]
        votes["hits"] = votes["hits"][::-1]
        store.execute(
            "UPDATE votes SET body = ? WHERE idx = 1 AND position = 0", (json.dumps(votes),)
        )
    store.close()
    rewrite(tmp_path / "run", 1, "radius = radius")
    assert main(["check", str(tmp_path / "run"), "--votes", "3", "--quiet", *SOURCE]) == 1
    said = capsys.readouterr().out
    assert "0 refuted" in said  # the certificates follow from the votes
    assert "votes of input 1, taken again: estimation votes from 0 on" in said
    assert said.count("votes are the stored ones") == 2


def test_another_model_or_other_data_cannot_vote_again(folder: Path) -> None:
    images = INPUTS.reshape(-1, 1, 4, 4)
    other = from_callable(lambda rows: np.zeros(len(rows), int), (1, 4, 4), 3)
    data = Dataset.from_arrays(images, classify(images))
    with pytest.raises(StoreMismatch, match="not the model"):
        next(retake_votes(folder / "run", other, data, 1))
    assert main(["check", str(folder / "one.json"), "--votes", "1"]) == 2


def test_fingerprints_of_model_and_input_are_compared(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, code, said in (("one", 0, "VERIFIED"), ("other", 1, "another input")):
        words = [str(folder / "one.json"), *SOURCE, "--input", str(folder / f"{name}.npy")]
        assert main(["check", *words, "--quiet"]) == code
        assert said in capsys.readouterr().out
    words = ["--model", "audit.small_runs:within_slab", "--num-classes", "3"]
    words += ["--input", str(folder / "one.npy")]
    assert main(["check", str(folder / "one.json"), *words, "--quiet"]) == 1
    assert "another model" in capsys.readouterr().out
    silent = json.loads((folder / "one.json").read_text()) | {"subject": None}
    (folder / "silent.json").write_text(json.dumps(silent))
    words = [str(folder / "silent.json"), "--input", str(folder / "one.npy")]
    assert main(["check", *words, "--quiet"]) == 3
    assert "does not say which input" in capsys.readouterr().out
