"""`dsrs predict`, `dsrs show --watch` and `dsrs completion`."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from cli_certify.small_run import INPUTS, Certify
from dsrs.cli.main import VERBS, main

PREDICT = ["predict", "--model", "tiny_classifier:bright", "--num-classes", "2", "--sigma", "0.5"]


@pytest.mark.usefixtures("certify")
def test_predict_answers_or_abstains(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*PREDICT, "--data", "data.npz", "--n", "40", "--seed", "7"]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["index"] for one in found] == list(range(INPUTS))
    assert (found[0]["class"], found[-1]["class"]) == (0, 1)
    assert {one["status"] for one in found} == {"predicted", "abstained"}
    assert all((one["class"] is None) == (one["status"] == "abstained") for one in found)
    assert all(sum(one["votes"]) == 40 for one in found)
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == INPUTS + 4
    assert lines[-1] == "noise: public seed 7, for experiments"
    assert any("abstained" in line for line in lines)
    right = sum(one["class"] == one["label"] for one in found)
    silent = sum(one["class"] is None for one in found)
    assert lines[-2].startswith(f"right: {right} of {INPUTS} inputs (")
    assert lines[-2].endswith(f"abstained: {silent}")
    assert sorted(path.name for path in Path().iterdir()) == ["data.npz"]


@pytest.mark.usefixtures("certify")
def test_each_answer_of_predict_has_fresh_noise_whose_seed_it_tells(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [*PREDICT, "--data", "data.npz", "--n", "64", "--json", "--indices"]
    asked = []
    for _ in range(8):
        assert main([*words, "3,4"]) == 0
        asked += json.loads(capsys.readouterr().out)
    assert len({answer["seed"] for answer in asked}) == 16
    assert not any(answer["seed_public"] for answer in asked)
    assert len({tuple(answer["votes"]) for answer in asked[::2]}) > 1  # equal by chance: 1e-7
    # The votes can be taken again.
    assert main([*words, "3", "--seed", str(asked[0]["seed"])]) == 0
    (again,) = json.loads(capsys.readouterr().out)
    assert again == asked[0] | {"seed_public": True}
    assert main([*words[:-2], "--stop", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "noise: fresh for each answer"


@pytest.mark.usefixtures("certify")
def test_predict_one_image(capsys: pytest.CaptureFixture[str]) -> None:
    image = pytest.importorskip("PIL.Image")
    image.fromarray(np.full((6, 4), 250, np.uint8)).save("bright.png")
    assert main([*PREDICT, "--data", "bright.png", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["class"] == 1
    assert main([*PREDICT, "--data", "bright.png", "--image-size", "4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["class"] == 1
    Path("cut.png").write_bytes(Path("bright.png").read_bytes()[:40])
    assert main([*PREDICT, "--data", "cut.png"]) == 2
    assert "cut.png" in capsys.readouterr().err


def test_watch_shows_a_run_whenever_it_has_grown(
    certify: Certify, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    certify("--quiet", "--stop", "1")
    capsys.readouterr()
    looks = iter([None, 2, 2, KeyboardInterrupt])

    def meanwhile(seconds: float) -> None:
        assert seconds == 7
        stop = next(looks)
        if stop is KeyboardInterrupt:
            raise KeyboardInterrupt
        if stop is not None:
            certify("--quiet", "--stop", str(stop), "--json")

    monkeypatch.setattr(time, "sleep", meanwhile)
    assert main(["show", "run", "--watch", "7"]) == 0
    out = capsys.readouterr().out
    assert (out.count(", 1 inputs"), out.count(", 2 inputs")) == (1, 1)
    for bad in (["--watch", "0"], ["--watch", "nan"], ["--watch", "1", "--json"]):
        assert main(["show", "run", *bad]) == 2
        assert "--watch" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for verb in VERBS:
        assert verb in script
    assert ("-l alpha-share" if shell == "fish" else "--alpha-share") in script
    program = shutil.which(shell)
    if program:
        subprocess.run([program, "-n"], input=script, text=True, check=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes_commands_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", "bash"])
    script = capsys.readouterr().out
    for words, expected in (("dsrs cert", "certify"), ("dsrs radius --q-v", "--q-votes")):
        last = len(words.split()) - 1
        asked = (
            f'{script}\nCOMP_WORDS=({words}); COMP_CWORD={last}; _dsrs; echo "${{COMPREPLY[@]}}"'
        )
        done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
        assert done.stdout.split() == [expected]
