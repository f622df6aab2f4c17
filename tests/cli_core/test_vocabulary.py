"""One word for one thing in all commands."""

from __future__ import annotations

import json
import re

import pytest

from dsrs.cli import Option
from dsrs.cli.main import known_commands, main

LAW = ["--d", "3072", "--k", "1530", "--sigma", "0.5"]


def radius(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main(["radius", *LAW, "--p", "0.97", "0.98", *words, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_several_laws_keep_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--q", "truncated:0.8", "--q-interval", "0.995", "1.0"]
    words += ["--q", "rescaled:0.4", "--q-interval", "0.98", "0.99"]
    proof = radius(capsys, *words)["proof"]
    assert isinstance(proof, dict)
    assert [seen["q"] for seen in proof["additional"]] == [[0.995, 1.0], [0.98, 0.99]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["radius", "--d", "1", "--sigma", "1", "--p", "0.9", "1"], "dsrs: --d must be"),
        (["radius", "--d", "9", "--sigma", "-1", "--p", "0.9", "1"], "dsrs: --sigma must be"),
    ],
)
def test_errors_name_what_was_typed(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(message)


def options() -> dict[str, dict[str, Option]]:
    """The options of each command by their names."""
    return {
        command.name: {option.name: option for option in command.all_options()}
        for command in known_commands().leaves()
    }


def test_the_same_words_in_all_commands() -> None:
    for command, named in options().items():
        assert not {"--out", "--jobs", "--num-workers", "--threads"} & set(named), command
        if "--q" in named:
            assert named["--q"].metavar == "LAW", command
    assert "1024" in options()["dsrs certify"]["--batch-size"].help


def test_every_option_has_a_text() -> None:
    silent = [(verb, name) for verb, named in options().items()
              for name, option in named.items() if len(option.help) < 10]  # fmt: skip
    assert not silent


def test_help_speaks_of_no_option_that_the_command_lacks() -> None:
    for command, named in options().items():
        for option in named.values():
            spoken = re.sub(r"`dsrs [^`]*`", "", option.help)  # of another command
            foreign = set(re.findall(r"(?<!\S)--[a-z][a-z0-9-]*", spoken)) - set(named)
            assert not foreign, f"{command} {option.name} speaks of {foreign}"
