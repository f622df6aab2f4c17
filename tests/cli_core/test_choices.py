"""Options whose choices live in the library: refused when wrong, all of them named in the help."""

from __future__ import annotations

import pytest

from dsrs.cli import Option
from dsrs.cli.main import known_commands
from dsrs.errors import InvalidInput
from dsrs.exchange import FORMATS
from dsrs.training import DATA, RECIPES

CHOICES = {
    ("export", "--format"): FORMATS,
    ("import", "--format"): [name for name, form in FORMATS.items() if form.read],
    ("train", "--recipe"): RECIPES,
    ("train", "--like"): DATA,
}


def option_of(verb: str, name: str) -> Option:
    (found,) = (
        option
        for command in known_commands((verb.split()[0],)).leaves()
        for option in command.all_options()
        if (command.name, option.name) == (f"dsrs {verb}", name)
    )
    return found


@pytest.mark.parametrize(("verb", "name"), CHOICES)
def test_help_names_every_choice(verb: str, name: str) -> None:
    for choice in CHOICES[verb, name]:
        assert choice in option_of(verb, name).help


@pytest.mark.parametrize(("verb", "name"), CHOICES)
def test_another_choice_is_refused(verb: str, name: str) -> None:
    option = option_of(verb, name)
    with pytest.raises(InvalidInput, match=f"^{name}: expected one of .*, got 'nonsense'$"):
        option.value("nonsense", name)
    for choice in CHOICES[verb, name]:
        assert option.value(choice, name) == choice
