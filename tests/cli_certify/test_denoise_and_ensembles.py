"""--denoise and several --model, through every verb that takes a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_certify.small_run import Certify, contents
from dsrs.cli.main import main
from dsrs.store import open_run

SOURCE = ("--model", "tiny_classifier:bright", "--num-classes", "2", "--data", "data.npz")


def config_of(folder: str) -> dict[str, dict[str, object]]:
    with open_run(folder) as run:
        return dict(run.config)


def test_a_denoiser_is_a_part_of_the_run(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certify("--quiet", "--denoise", "clip") == 0
    config = config_of("run")
    assert "behind clip" in str(config["model"]["description"])
    assert "clip:0,1" in str(config["model"]["fingerprint"])
    assert config["source"]["denoise"] == "clip"
    assert 'denoise = "clip"' in Path("run/run.toml").read_text()
    again = ["certify", "--config", "run/run.toml", "--trust-code", "--output", "again", "--quiet"]
    assert main(again) == 0
    assert contents(Path("again")) == contents(Path("run"))
    assert certify("--quiet", output="plain") == 0
    assert contents(Path("plain")) != contents(Path("run"))
    # The attack finds the denoiser in the run, and the run continues with nothing else.
    assert (
        main(["attack", "run", "--trust-code", "--budget", "2000", "--indices", "7", "--quiet"])
        == 0
    )
    capsys.readouterr()
    assert certify("--quiet") == 2
    assert "fingerprint" in capsys.readouterr().err


def test_other_verbs_take_a_denoiser(certify: Certify, capsys: pytest.CaptureFixture[str]) -> None:
    del certify  # its folder has the data
    law = ("--sigma", "0.5", "--seed", "1", "--indices", "0,7", "--json")
    found = []
    for denoise in ((), ("--denoise", "clip")):
        assert main(["predict", *SOURCE, *law, *denoise]) == 0
        found.append([one["votes"] for one in json.loads(capsys.readouterr().out)])
    assert found[0] != found[1]
    look = ("--votes", "400", "--quiet", "--split", "test", "--denoise", "clip")
    assert main(["landscape", *SOURCE, *look, "--output", "look"]) == 0
    assert "behind clip" in str(config_of("look")["model"]["description"])
    assert main(["tune", *SOURCE, *look, "--n", "500", "--json"]) == 0
    capsys.readouterr()
    assert main(["predict", *SOURCE, *law, "--denoise", "magic"]) == 2
    assert "--denoise" in capsys.readouterr().err


def test_an_ensemble_certifies_like_the_mean_of_its_members(certify: Certify) -> None:
    # The mean of s, -s and s is s / 3, which has the same sign: the votes are those of one member.
    assert certify("--quiet", output="one") == 0
    members = ("tiny_classifier:bright", "tiny_classifier:dark", "tiny_classifier:bright")
    assert certify("--quiet", *(word for name in members for word in ("--model", name))) == 0
    assert contents(Path("run")) == contents(Path("one"))
    config = config_of("run")
    assert str(config["model"]["description"]).startswith("mean of 3 models: ")
    assert len(list(config["source"]["model"])) == 3  # type: ignore[call-overload]
    assert (
        main(
            ["certify", "--config", "run/run.toml", "--trust-code", "--output", "again", "--quiet"]
        )
        == 0
    )
    assert contents(Path("again")) == contents(Path("run"))
    assert (
        main(["attack", "run", "--trust-code", "--budget", "2000", "--indices", "7", "--quiet"])
        == 0
    )
    assert main(["export", "run", "--format", "original", "--output", "logs"]) in (0, 2)
