"""`dsrs conformal` and what belongs to it, as a newcomer types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dsrs.cli.main import main

MODELS = """
import numpy as np

CENTRES = np.array([0.2, 0.5, 0.8])

def logits(batch):
    mean = batch.reshape(len(batch), -1).mean(axis=1)
    return (-400 * (mean[:, None] - CENTRES) ** 2).astype(np.float32)

def other(batch):
    return logits(batch) + 1

def classes(batch):
    return logits(batch).argmax(axis=1)
"""
NET = ["--model", "set_models:logits", "--data", "data.npz"]
PROMISE = ["--sigma", "0.1", "--radius", "0.05"]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A command in a folder with labelled 8-bit images and models."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 120)
    grey = np.array([0.2, 0.5, 0.8])[labels] + 0.05 * rng.standard_normal(120)
    images = grey[:, None, None, None] + 0.1 * rng.standard_normal((120, 1, 3, 3))
    np.savez("data.npz", images=(images.clip(0, 1) * 255).astype(np.uint8), labels=labels)
    Path("set_models.py").write_text(MODELS)

    def execute(*words: str) -> tuple[int, str, str]:
        code = main(list(words))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return execute


def calibrate(run: Run, *words: str, output: str = "sets.json") -> tuple[int, str, str]:
    command = ["conformal", "calibrate", *NET, *PROMISE, "--stop", "80", "--quiet"]
    return run(*command, "--output", output, *words)


def test_calibrate_predict_check(run: Run) -> None:
    code, out, _ = calibrate(run)
    assert code == 0
    assert "not for each single input" in out
    code, out, _ = run("conformal", "predict", "--sets", "sets.json", *NET, "--start", "80")
    assert code == 0
    assert "not for each single input" in out
    assert "noise: fresh for each answer" in out
    assert "mean size" in out
    code, out, _ = run("check", "sets.json", "--quiet")
    assert code == 0
    assert "PROVED: sets certificate 1" in out
    assert "1 of 1 proved" in out
    assert "not for each single input" in out


def test_json_for_programs(run: Run) -> None:
    _, out, _ = calibrate(run, "--json", "--seed", "1")
    assert "not for each single input" in json.loads(out)["guarantee"]
    words = ["conformal", "predict", "--sets", "sets.json", *NET, "--indices", "90,95", "--json"]
    _, out, _ = run(*words)
    found = json.loads(out)
    assert "not for each single input" in found["guarantee"]
    assert [answer["index"] for answer in found["sets"]] == [90, 95]
    assert not found["sets"][0]["seed_public"]
    _, first, _ = run(*words, "--seed", "5")
    _, second, _ = run(*words, "--seed", "5")
    assert first == second


def test_nothing_is_overwritten_unasked(run: Run) -> None:
    Path("sets.json").write_text("mine")
    code, _, err = calibrate(run)
    assert code == 2
    assert "exists" in err
    assert Path("sets.json").read_text() == "mine"
    assert calibrate(run, "--overwrite")[0] == 0


def test_another_model_is_not_quoted(run: Run) -> None:
    calibrate(run)
    other = ["--model", "set_models:other", "--data", "data.npz"]
    code, _, err = run("conformal", "predict", "--sets", "sets.json", *other)
    assert code == 2
    assert "nothing that it promises may be quoted" in err


def test_models_that_return_classes_only_are_refused(run: Run) -> None:
    words = ["--model", "set_models:classes", "--num-classes", "3", "--data", "data.npz"]
    code, _, err = run("conformal", "calibrate", *words, *PROMISE, "--output", "x.json")
    assert code == 2
    assert "returns classes only" in err
    assert not Path("x.json").exists()


def test_too_few_inputs_are_told(run: Run) -> None:
    code, out, _ = calibrate(run, "--stop", "10")
    assert code == 0
    assert "every set will hold all classes" in out
    code, out, _ = run("check", "sets.json", "--quiet")
    assert code == 1
    assert "0 of 0 proved, 1 claim nothing" in out


def test_scores_are_taken_again(run: Run) -> None:
    calibrate(run, "--calibration-draws", "2")
    code, out, _ = run("check", "sets.json", "--quiet", *NET, "--votes", "3")
    assert code == 0
    assert out.count("all 2 scores are the stored ones") == 3
    fields = json.loads(Path("sets.json").read_text())
    fields["calibration"]["scores"] = [s * 0.9 for s in fields["calibration"]["scores"]]
    fields["threshold"] *= 0.9
    Path("forged.json").write_text(json.dumps(fields))
    code, out, _ = run("check", "forged.json", "--quiet", *NET, "--votes", "3")
    assert code == 1
    assert "scores differ" in out
    assert run("check", "sets.json", "--quiet", "--votes", "3")[0] == 2


def test_sets_of_other_noise_are_proved_and_their_forgeries_are_not(run: Run) -> None:
    calibrate(run, "--k", "2")
    assert run("check", "sets.json", "--quiet")[0] == 0
    fields = json.loads(Path("sets.json").read_text())
    fields["threshold"] *= 0.9
    Path("forged.json").write_text(json.dumps(fields))
    code, out, _ = run("check", "forged.json", "--quiet")
    assert code == 1
    assert "NOT PROVED" in out


@pytest.mark.parametrize(
    "words",
    [
        ["--coverage", "1.5"],
        ["--radius", "-1"],
        ["--draws", "0"],
        ["--score", "margin"],
        ["--confidence", "2"],
        ["--no-labels"],
        ["--sigma", "0"],
    ],
)
def test_bad_options_end_in_a_sentence(run: Run, words: list[str]) -> None:
    code, _, err = calibrate(run, *words)
    assert code == 2
    assert err.startswith("dsrs: ")
    assert not Path("sets.json").exists()


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"kind": "prediction sets"}', "\0"])
def test_other_files_are_no_sets(run: Run, content: str) -> None:
    Path("sets.json").write_text(content)
    code, _, err = run("conformal", "predict", "--sets", "sets.json", *NET)
    assert code == 2
    assert err.startswith("dsrs: sets.json")


def test_tune_then_calibrate_on_others(run: Run) -> None:
    words = ["conformal", "tune", *NET, "--radius", "0.05", "--start", "60", "--quiet"]
    code, out, _ = run(*words, "--sigmas", "0.05,0.1", "--output", "tuned.json")
    assert code == 0
    assert "not for each single input" in out
    tuned = ["--radius", "0.05", "--law", "tuned.json", "--quiet", "--output", "sets.json"]
    code, _, err = run("conformal", "calibrate", *NET, "--stop", "80", *tuned)
    assert code == 2
    assert "20 of these inputs chose the noise" in err
    assert run("conformal", "calibrate", *NET, "--stop", "60", *tuned)[0] == 0
    with np.load("data.npz") as data:
        np.savez("copy.npz", images=data["images"][50:80], labels=data["labels"][50:80])
    copy = ["--model", "set_models:logits", "--data", "copy.npz"]
    code, _, err = run("conformal", "calibrate", *copy, *tuned, "--overwrite")
    assert (code, "20 of these inputs chose the noise" in err) == (2, True)
    # A file of `dsrs tune` names the inputs that chose the noise in another way.
    looked = {"inputs": [3, 4, 99]}
    law = json.loads(Path("tuned.json").read_text())["law"]
    Path("other.json").write_text(json.dumps({"law": law, "landscape": looked}))
    other = ["--radius", "0.05", "--law", "other.json", "--quiet", "--output", "other-sets.json"]
    code, _, err = run("conformal", "calibrate", *NET, "--stop", "60", *other)
    assert (code, "2 of these inputs chose the noise" in err) == (2, True)
    best = json.loads(Path("tuned.json").read_text())
    sets = json.loads(Path("sets.json").read_text())
    assert (sets["law"], sets["score"]) == (best["law"], best["score"])
    code, out, _ = run(*words, "--json")
    assert len(json.loads(out)["forecasts"]) == 14


def test_report(run: Run) -> None:
    calibrate(run)
    words = ["conformal", "report", "--sets", "sets.json", *NET, "--start", "80", "--quiet"]
    code, out, _ = run(*words, "--output", "page.html")
    assert code == 0
    assert "not for each single input" in out
    assert "attack" in out
    assert "not for each single input" in Path("page.html").read_text()
    code, out, _ = run(*words, "--shifts", "none", "--json")
    assert [one["shift"] for one in json.loads(out)["outcomes"]] == ["none"]
    assert run(*words, "--shifts", "sideways")[0] == 2
    Path("mine.html").write_text("mine")
    assert run(*words, "--output", "mine.html")[0] == 2


def test_served_compares_sets_and_runs(run: Run) -> None:
    calibrate(run)
    net = ["--model", "set_models:logits"]
    code, out, _ = run("served", "sets.json", *net, "--sigma", "0.1")
    assert code == 0
    assert "bit for bit" in out
    code, out, _ = run("served", "sets.json", *net, "--sigma", "0.2", "--grid", "1/255", "--json")
    assert code == 1
    found = {one["name"]: one["same"] for one in json.loads(out)["facts"]}
    assert [name for name, same in found.items() if not same] == ["law", "grid"]
    assert run("served", "sets.json", "--model", "set_models:other")[0] == 1
    certify = ["certify", *NET, "--stop", "2", "--sigma", "0.1", "--q", "none", "--n", "64"]
    assert run(*certify, "--workers", "1", "--output", "run")[0] == 0
    assert run("served", "run", *net, "--sigma", "0.1")[0] == 0
    assert run("served", "run", *net, "--sigma", "0.1", "--k", "1")[0] == 1
    assert run("served", "run", *net, "--sigma", "0.1", "--device", "cuda")[0] in (1, 2)
    assert run("served", "run")[0] == 2


def test_curve_refuses_a_figure_before_the_work(run: Run) -> None:
    Path("notes.png").write_text("not a picture")
    words = ["conformal", "curve", *NET, "--sets", "missing.json", "--radii", "0,1", "--figure"]
    code, _, err = run(*words, "sizes.txt")
    assert (code, "must end in .png" in err) == (2, True)
    code, _, err = run(*words, "notes.png")
    assert (code, "file of another kind" in err) == (2, True)


def test_curve_prints_draws_and_names_the_run_beside_it(run: Run) -> None:
    assert calibrate(run)[0] == 0
    assert calibrate(run, "--sigma", "0.2", output="more.json")[0] == 0
    certify = ["certify", *NET, "--sigma", "0.1", "--q", "none", "--n", "200", "--skip", "30"]
    assert run(*certify, "--output", "mine", "--quiet")[0] == 0
    command = ["conformal", "curve", *NET, "--start", "80", "--sets", "sets.json", "--quiet"]
    words = ["--sets", "more.json", "--radii", "0:0.1:0.05", "--run", "mine"]
    code, out, _ = run(*command, *words, "--figure", "sizes.png")
    assert code == 0
    lines = out.splitlines()
    assert "sigma 0.1" in lines[0]
    assert "sigma 0.2" in lines[0]
    assert "mine" in lines[0]
    assert [line.split()[0] for line in lines[2:5]] == ["0", "0.05", "0.1"]
    assert "not for each single input" in out
    assert Path("sizes.png").read_bytes().startswith(b"\x89PNG")
    code, out, _ = run(*command, *words, "--json")
    assert code == 0
    found = json.loads(out)
    assert [point["radius"] for point in found["sizes"]["sigma 0.1, 1 query"]] == [0, 0.05, 0.1]
    assert run("conformal", "curve", *NET, "--sets", "sets.json", "--radii", "0.1")[0] == 2
