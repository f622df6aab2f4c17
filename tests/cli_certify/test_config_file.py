"""`dsrs certify --config`, and the run.toml that every run writes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from cli_certify.small_run import Certify, certify_arguments, contents
from dsrs.cli import config_text
from dsrs.cli.main import main, parsed

NEEDED = ("--model", "m", "--data", "d", "--output", "o")


def arguments_of(text: str, *typed: str) -> argparse.Namespace:
    """What the command gets with this file."""
    Path("my.toml").write_text(text)
    return parsed(["certify", "--config", "my.toml", *typed])[1]


@pytest.mark.parametrize(
    "options",
    [
        ["--q", "truncated:0.8", "--q", "rescaled:0.8x", "--indices", "1,3", "--alpha", "1e-05"],
        ["--q", "none", "--no-labels", "--start", "2", "--bounds", "-1", "2", "--mean", "-0.5"],
        ["--adaptive", "--radii", "0.1:0.3:0.1", "--stop", "3", "--grid", "none"],
        ["--grid", "1/300", "--stop", "7", "--q", "none", "--n0", "030"],
    ],
)
def test_the_file_of_a_run_repeats_it(certify: Certify, options: list[str]) -> None:
    assert certify("--quiet", *options) == 0
    again = ["certify", "--config", "run/run.toml", "--trust-code", "--output", "again", "--quiet"]
    assert main(again) == 0
    assert contents(Path("again")) == contents(Path("run"))
    assert Path("again/run.toml").read_text() == Path("run/run.toml").read_text()


def test_what_is_typed_comes_first(certify: Certify) -> None:
    assert certify("--quiet", "--q", "truncated:0.8", "--indices", "1") == 0
    words = ["certify", "--config", "run/run.toml", "--trust-code", "--quiet", "--output", "other"]
    assert main([*words, "--q", "none", "--seed", "5", "--stop", "2"]) == 0
    text = Path("other/run.toml").read_text()
    assert 'q = ["none"]\n' in text
    assert "seed = 5\n" in text
    assert [row[0] for row in contents(Path("other"))] == [0, 1]


def test_a_tuned_law_is_written_out(certify: Certify) -> None:
    law = {"d": 16, "sigma": 0.25, "k": 2.0, "eta": 2.0}
    Path("tuned.json").write_text(json.dumps({"law": law, "method": "truncated:0.8"}))
    words = [
        word for word in certify_arguments("tuned") if word not in ("--sigma", "0.5", "--k", "4")
    ]
    assert main([*words, "--law", "tuned.json", "--indices", "3", "--quiet"]) == 0
    text = Path("tuned/run.toml").read_text()
    assert "sigma = 0.25\nk = 2.0\n" in text
    assert 'q = ["truncated:0.8"]' in text
    assert "tuned.json" not in text
    # And a law that is typed takes the place of that of the file.
    assert certify("--quiet", "--indices", "3") == 0
    words = [
        "certify",
        "--config",
        "run/run.toml",
        "--trust-code",
        "--law",
        "tuned.json",
        "--output",
        "b",
        "--quiet",
    ]
    assert main(words) == 0
    assert contents(Path("b")) == contents(Path("tuned"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sgima = 1", "`sgima` is no option of `dsrs certify`; the options are adaptive, alpha,"),
        ("config = 'x'", "`config` is no option"),
        ("[law]\nsigma = 1", "`law` must be a text, a number or a list"),
        ("sigma = true", "`sigma` must be a text"),
        ("seed = 'many'", "my.toml: `seed`: expected a whole number"),
        ("bounds = [0, 1, 2]", "`bounds` must be a list of 2 values"),
        ("no-labels = 'yes'", "`no-labels` must be true or false"),
        ("sigma = ", "cannot be read as TOML"),
        ("sigma = 1\nsigma = 2", "cannot be read as TOML"),
    ],
)
def test_bad_files_are_refused(
    certify: Certify, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    Path("my.toml").write_text(text)
    assert certify("--config", "my.toml", "--model", "x") == 2
    assert message in capsys.readouterr().err
    assert certify("--config", "missing.toml") == 2
    assert "missing.toml cannot be read: No such file" in capsys.readouterr().err
    assert not Path("run").exists()


@pytest.mark.usefixtures("certify")
def test_values_of_a_file_are_read_as_if_they_were_typed() -> None:
    text = "q = ['a', 'b']\nindices = [1, 2]\nmean = [-0.5, 1e-3]\nn = '1e3'\n"
    read = arguments_of(text, "--seed", "1", *NEEDED)
    assert (read.methods, read.indices, read.mean) == (["a", "b"], (1, 2), (-0.5, 0.001))
    assert (read.n, read.seed) == (1000, 1)
    read = arguments_of("bounds = [-1, 1]\nfallback = true\nearly-stop = false", *NEEDED)
    assert (read.bounds, read.fallback, read.early_stop) == ([-1, 1], True, False)
    assert "early-stop" not in read.texts


@pytest.mark.usefixtures("certify")
def test_what_cannot_be_used_with_a_typed_option_is_left_out() -> None:
    text = "adaptive = true\nradii = '0:1:0.1'\nsigma = 1"
    read = arguments_of(text, "--radius", "2", *NEEDED)
    assert (read.adaptive, read.radii, read.radius, read.sigma) == (False, None, 2.0, 1.0)


@pytest.mark.usefixtures("certify")
def test_the_precision_of_the_model_is_not_that_of_a_radius() -> None:
    text = "precision = 'bfloat16'\nradius-precision = 0.1\nadaptive = true\nn = 400"
    for typed in (["--radius", "2"], ["--radii", "1,2"]):
        read = arguments_of(text, *typed, *NEEDED)
        assert (read.precision, read.radius_precision) == ("bfloat16", None)
    read = arguments_of("radii = '1,2'\nadaptive = true", "--precision", "bfloat16", *NEEDED)
    assert read.radii == "1,2"


@pytest.mark.usefixtures("certify")
def test_a_typed_budget_takes_the_place_of_a_number_of_votes() -> None:
    # Every run.toml has an `n`.
    assert "n" not in arguments_of("n = 400", "--budget", "1e6", *NEEDED).texts


@pytest.mark.usefixtures("certify")
@pytest.mark.parametrize("name", ['a"b\\c', "tab\t", "\x7f\x1b", "caf\u00e9 \U0001f600"])
def test_any_name_survives(name: str) -> None:
    text = config_text({"model": name}, "two\nlines")
    assert text.startswith("# two\n# lines\n")
    assert arguments_of(text, *NEEDED[2:]).model == [name]


def test_a_failed_start_leaves_no_file(certify: Certify) -> None:
    assert certify("--model", "tiny_classifier:broken") == 2
    assert not Path("run").exists()


def test_a_refused_continuation_keeps_the_file(certify: Certify) -> None:
    assert certify("--quiet", "--stop", "1") == 0
    before = Path("run/run.toml").read_text()
    assert certify("--quiet", "--stop", "2", "--seed", "9") == 2
    assert Path("run/run.toml").read_text() == before
    assert certify("--quiet", "--stop", "2") == 0
    assert Path("run/run.toml").read_text() == before.replace("stop = 1", "stop = 2")


@pytest.mark.usefixtures("certify")
def test_who_did_the_work_is_not_kept() -> None:
    words = ["--shard", "2/3", "--cluster", "local", "--threads-per-actor", "2", "--workers", "1"]
    words += ["--n0", "7", "--output", "x", "--quiet"]
    read = arguments_of("data = 'd'\nmodel = 'm'", *words)
    assert config_text(read.texts, "by hand") == '# by hand\ndata = "d"\nmodel = ["m"]\nn0 = 7\n'
