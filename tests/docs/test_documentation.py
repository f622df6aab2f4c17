"""The documentation is held to the code: commands, examples and links."""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

from docs.run_examples import blocks
from dsrs.cli.main import VERBS, main, parsed

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]


def test_every_command_is_documented() -> None:
    text = "\n".join(page.read_text() for page in PAGES)
    for verb, file in VERBS.items():
        assert re.search(rf"dsrs {verb}\b|`{verb}`", text), f"`dsrs {verb}` is documented nowhere"
        assert import_module(f"dsrs.cli.{file}").__doc__


def test_the_console_example_of_the_readme_prints_what_it_shows(capsys) -> None:  # type: ignore[no-untyped-def]
    (example,) = blocks(README, "console")
    command, _, shown = example.replace("\\\n", " ").partition("\n")
    assert main(shlex.split(command.removeprefix("$ dsrs "))) == 0
    # The last digits of the bound belong to the search, not to the claim.
    cut = re.compile(r"0\.50000000\d+|(?<=shift )\S+|(?<= = )[\d.]+")
    assert cut.sub("#", capsys.readouterr().out.strip()) == cut.sub("#", shown.strip())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_the_documentation_parse(page: Path) -> None:
    for block in blocks(page, "(?:sh|bash|console)"):
        for line in block.replace("\\\n", " ").splitlines():
            words = line.strip().removeprefix("$ ")
            if not words.startswith("dsrs ") or "..." in words or "[" in words:
                continue
            arguments = shlex.split(words, comments=True)[1:]
            if "--config" in arguments:
                place = arguments.index("--config")
                arguments[place : place + 2] = ["--model", "m", "--data", "d"]  # what the file says
            if not {"--help", "--version"} & set(arguments):
                parsed([word for word in arguments if word not in (">", "|")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_what_the_code_cites_is_in_the_documentation() -> None:
    sections = set(re.findall(r"^## (\d+)\.", (ROOT / "docs/math.md").read_text(), flags=re.M))
    here = Path(__file__).resolve()
    for file in [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        if file.resolve() == here:
            continue
        text = file.read_text()
        for page in re.findall(r"\bdocs/[\w-]+\.md", text):
            assert (ROOT / page).exists(), f"{file} cites {page}"
        for cited in re.findall(r"docs/math\.md (\d+(?:(?:, | and )\d+)*)", text):
            missing = set(re.findall(r"\d+", cited)) - sections
            assert not missing, f"{file} cites section {missing} of docs/math.md"
        # A page of formulas that the repository does not have.
        assert not re.search(r"\bMATH\b", text), f"{file} cites MATH"
