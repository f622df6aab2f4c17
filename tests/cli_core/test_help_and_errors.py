"""What a person sees who types something wrong, or nothing."""

from __future__ import annotations

import pytest

from dsrs.cli import Commands, HelpAsked, help_of, parse, whole_number, whole_numbers
from dsrs.cli.main import VERBS, known_commands, main, parsed
from dsrs.errors import InvalidInput

CERTIFY = ["certify", "--model", "m", "--data", "d", "--output", "o"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["certfy"], "dsrs: `dsrs` has no command 'certfy'; did you mean certify?"),
        (
            ["conformal", "curv"],
            "dsrs: `dsrs conformal` has no command 'curv'; did you mean curve?",
        ),
        (["xyzzy"], "dsrs: `dsrs` has no command 'xyzzy'; see dsrs --help"),
        ([*CERTIFY, "--N", "5"], "dsrs: `dsrs certify` has no option --N; did you mean --n?"),
        (
            [*CERTIFY, "--batch_size=8"],
            "dsrs: `dsrs certify` has no option --batch_size; did you mean --batch-size?",
        ),
        (
            [*CERTIFY, "--zebra"],
            "dsrs: `dsrs certify` has no option --zebra; see dsrs certify --help",
        ),
        (
            ["show", "--idnex", "3"],
            "dsrs: `dsrs show` has no option --idnex; did you mean --index?",
        ),
        (["show"], "dsrs: `dsrs show` needs RUN; see dsrs show --help"),
        (["show", "a", "b"], "dsrs: `dsrs show` has no place for 'b'; see dsrs show --help"),
        (
            ["certify", "--sigma", "1"],
            "dsrs: `dsrs certify` needs --model, --data, --output; see dsrs certify --help",
        ),
        (
            ["radius", "--d", "9", "--sigma", "1"],
            "dsrs: `dsrs radius` needs --p or --p-votes; see dsrs radius --help",
        ),
        ([*CERTIFY, "--quiet", "--verbose"], "dsrs: --quiet and --verbose cannot be used together"),
        ([*CERTIFY, "--n"], "dsrs: --n: expected one argument; see dsrs certify --help"),
        (
            [*CERTIFY, "--n", "many"],
            "dsrs: --n: expected a whole number, such as 1000 or 1e5, got 'many'",
        ),
        ([*CERTIFY, "--alpha", "x"], "dsrs: --alpha: expected a number, such as 0.5, got 'x'"),
        (
            [*CERTIFY, "--split", "all"],
            "dsrs: --split: expected one of test, train, got 'all'",
        ),
    ],
)
def test_a_mistake_is_told_in_one_line(
    capsys: pytest.CaptureFixture[str], words: list[str], line: str
) -> None:
    assert main(words) == 2
    shown = capsys.readouterr()
    assert shown.err == line + "\n"
    assert shown.out == ""


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == main(["--help"]) == main(["-h"]) == 0
    first, second, third = capsys.readouterr().out.split("usage: ")[1:]
    assert first == second == third
    for verb in VERBS:
        assert f"  {verb.rstrip('_')} " in first
    assert main(["conformal"]) == 0
    assert "curve" in capsys.readouterr().out


def test_the_usage_of_a_command_is_what_it_needs() -> None:
    certify = known_commands(("certify",)).by_name["certify"]
    assert help_of(certify).splitlines()[0] == (
        "usage: dsrs certify --model MODEL --data DATA --output OUTPUT [options]"
    )
    merge = known_commands(("merge",)).by_name["merge"]
    assert help_of(merge).startswith("usage: dsrs merge RUN [RUN ...] --output OUTPUT [options]\n")


def test_help_says_defaults_and_what_is_required() -> None:
    commands = Commands("test")
    command = commands.add_parser("one", help="one command")
    command.add_argument("--size", type=int, default=7, help="how large, 100% sure")
    command.add_argument("--name", required=True, help="how it is called")
    text = " ".join(help_of(command).split())
    assert "--size SIZE how large, 100% sure (default: 7)" in text
    assert "--name NAME how it is called (required)" in text
    with pytest.raises(HelpAsked, match="how large"):
        parse(command, ["--help"])


@pytest.mark.parametrize(
    ("text", "value"), [("1000", 1000), ("1e5", 100_000), ("2.5E3", 2500), ("1_000", 1000)]
)
def test_whole_numbers_may_have_an_exponent(text: str, value: int) -> None:
    assert whole_number(text) == value
    assert parsed([*CERTIFY, "--n", text])[1].n == value


@pytest.mark.parametrize("text", ["1.5", "1e-3", "nan", "inf", "1e999999999", "", "x", "0x10"])
def test_other_numbers_are_no_whole_numbers(text: str) -> None:
    with pytest.raises(InvalidInput, match="expected a whole number"):
        whole_number(text)


def test_indices_may_be_ranges() -> None:
    assert parsed([*CERTIFY, "--indices", "1-5,7,9-9"])[1].indices == (1, 2, 3, 4, 5, 7, 9)
    assert whole_numbers("-3") == (-3,)
    for text in ("5-1", "1-", "a-b", "1--2", "0-1e30", "1,,2"):
        with pytest.raises(InvalidInput, match="such as 3,14,15 or 0-9,20"):
            whole_numbers(text)


def test_words_behind_two_dashes_are_no_options() -> None:
    assert parsed(["show", "--index", "3", "--", "--odd"])[1].run_folder == "--odd"
    assert parsed(["report", "a", "--seed", "3", "b", "-"])[1].runs == ["a", "b", "-"]


def test_an_option_may_be_cut_short_where_it_is_clear(capsys: pytest.CaptureFixture[str]) -> None:
    assert parsed([*CERTIFY, "--sig", "2"])[1].sigma == 2
    assert main([*CERTIFY, "--s", "2"]) == 2
    assert "--s could match" in capsys.readouterr().err
