"""One word for one thing in all commands, and the words of before still work."""

from __future__ import annotations

import argparse
import json

import pytest

from dsrs.cli.main import build_parser, main

LAW = ["--d", "3072", "--k", "1530", "--sigma", "0.5"]


def radius(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main(["radius", *LAW, "--p", "0.97", "0.98", *words, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_q_is_a_law_and_its_old_spelling_still_works(capsys: pytest.CaptureFixture[str]) -> None:
    expected = radius(capsys, "--q", "truncated:0.8", "--q-interval", "0.995", "1.0")
    assert expected["additional"]
    assert radius(capsys, "--q-law", "truncated:0.8", "--q", "0.995", "1.0") == expected
    assert radius(capsys, "--q", "0.995", "1.0", "--q", "truncated:0.8") == expected


def test_several_laws_keep_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--q", "truncated:0.8", "--q-interval", "0.995", "1.0"]
    words += ["--q", "rescaled:0.4", "--q-interval", "0.98", "0.99"]
    found = radius(capsys, *words)["additional"]
    assert isinstance(found, list)
    assert [seen["q"] for seen in found] == [[0.995, 1.0], [0.98, 0.99]]


def test_montecarlo_takes_both_spellings(capsys: pytest.CaptureFixture[str]) -> None:
    law = ["montecarlo", "--norm", "l2", "--d", "20", "--sigma", "1", "--samples", "2000"]
    law += ["--search-samples", "500", "--p", "0.9", "--json"]
    found = []
    for words in (["--q", "truncated:0.5", "--q-lower", "0.95"],
                  ["--q-law", "truncated:0.5", "--q", "0.95"]):  # fmt: skip
        assert main([*law, *words]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]
    assert found[0]["additional"]


def test_two_laws_after_one_q_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["radius", *LAW, "--p", "0.9", "1", "--q", "truncated:0.8", "rescaled:0.4"])
    assert caught.value.code == 2
    assert "expected one law" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["radius", "--d", "1", "--sigma", "1", "--p", "0.9", "1"], "dsrs: --d must be"),
        (["radius", "--d", "9", "--sigma", "-1", "--p", "0.9", "1"], "dsrs: --sigma must be"),
        (["montecarlo", "--norm", "l1", "--d", "9", "--sigma", "1", "--p", "2"], "dsrs: --p must"),
    ],
)
def test_errors_name_what_was_typed(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(message)


def _options() -> dict[str, dict[str, argparse.Action]]:
    (verbs,) = (
        action
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return {name: dict(parser._option_string_actions) for name, parser in verbs.choices.items()}


def test_the_same_words_in_all_commands() -> None:
    for verb, options in _options().items():
        assert not {"--out", "--jobs", "--num-workers"} & {
            option for option in options if options[option].option_strings[0] == option
        }, verb
        if "--q" in options:
            assert options["--q"].metavar == "LAW", verb
        if "--threads" in options:
            assert options["--threads"] is options["--workers"], verb
    assert "1024" in str(_options()["certify"]["--batch-size"].help)
