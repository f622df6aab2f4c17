"""What the documentation and the help say of options is what the options are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from docs.run_examples import blocks
from docs.test_documentation import PAGES, ROOT
from dsrs.cli import Option
from dsrs.cli.main import known_commands, main
from dsrs.cli.reference import reference
from dsrs.methods import DOUBLE_SAMPLING, METHODS, defaults

OPTIONS = {
    (command.name, option.name): option
    for command in known_commands().leaves()
    for option in command.all_options()
}
CERTIFY_PAGE = ROOT / "docs" / "certify.md"


def test_the_page_of_commands_is_what_the_commands_are() -> None:
    written = (ROOT / "docs" / "commands.md").read_text()
    assert written == reference(), "docs/commands.md is old: run `make reference`"


def told_defaults(option: Option) -> list[str]:
    """The defaults that the help of an option names."""
    colon = re.findall(r"\(default:? ([^\s;)]+)\)", option.described)
    word = re.findall(r"([^\s,;(]+) \(default\)", option.described)
    return [text.strip("`:,") for text in (*colon, *word)]


def test_help_names_the_defaults_that_are_taken() -> None:
    named = 0
    for key, option in OPTIONS.items():
        if isinstance(option.default, (int, float, str)):
            for text in told_defaults(option):
                assert option.value(text, str(key)) == option.default, f"{key}: {option.help}"
                named += 1
    assert named > 50


def test_a_wrong_default_in_the_help_is_found() -> None:
    assert told_defaults(Option("--n", help="votes (default: 1e3)")) == ["1e3"]
    assert told_defaults(Option("--k", help="exponent; 0 (default) is Gaussian")) == ["0"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_options_that_exist_and_their_defaults(page: Path) -> None:
    names = {name for _, name in OPTIONS} | {"--help", "--version"}
    text = page.read_text()
    foreign = {"--memory", "--beside", "--logs"}  # of benchmarks, and of the reproduction
    spoken = set(re.findall(r"`(--[a-z][a-z0-9-]*)", text)) - foreign
    assert not spoken - names, f"{page.name} speaks of {spoken - names}"
    for name, default in re.findall(r"`(--[a-z][a-z0-9-]*)[^`]*` \(default:? `?([^)`]+)`?\)", text):
        told = {str(option.default) for (_, own), option in OPTIONS.items() if own == name}
        numbers = {f"{float(value):g}" for value in told if re.fullmatch(r"[\d.e+-]+", value)}
        assert default in told | numbers, f"{page.name}: {name} has the default {told}"


def test_the_methods_of_the_certify_page_are_those_of_the_program() -> None:
    rows = dict(re.findall(r"^\| `([^`]+)` \| (.*) \|$", CERTIFY_PAGE.read_text(), flags=re.M))
    assert METHODS.keys() - {"np", DOUBLE_SAMPLING} <= set(rows)
    assert [name for name, text in rows.items() if "(default)" in text] == [
        *defaults.DEFAULT_METHODS[1:]
    ]


def test_the_example_of_the_certify_page_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn", reason="needs the extra `sklearn`")
    monkeypatch.chdir(tmp_path)
    (code,) = (text for text in blocks(CERTIFY_PAGE, "python") if text.startswith("# digits.py"))
    Path("digits.py").write_text(code)
    (example,) = blocks(CERTIFY_PAGE, "console")
    command, _, shown = example.replace("\\\n", " ").partition("\n")
    assert main(shlex.split(command.removeprefix("$ dsrs "))) == 2  # there is no data yet
    exec(compile(code, "digits.py", "exec"), {})
    assert main(shlex.split(command.removeprefix("$ dsrs "))) == 0
    printed = capsys.readouterr().out.strip().splitlines()
    expected = shown.strip().splitlines()
    assert printed[0] == expected[0]
    assert len(printed) == len(expected)
    # Another version of scikit-learn may fit a little differently.
    columns = ["method", "r=0", *(f"r=0.{tenth}" for tenth in range(1, 7))]
    assert printed[1].split()[:8] == expected[1].split()[:8] == columns
    for line, told in zip(printed[3:5], expected[3:5], strict=True):
        assert line.split()[0] == told.split()[0]
        found, promised = (np.array([float(x) for x in row.split()[1:8]]) for row in (line, told))
        assert np.abs(found - promised).max() <= 3
