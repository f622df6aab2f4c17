"""Errors of the library name its parameters; a person at the command line typed options.

Where an option fills a parameter of the library, its `dest` is that parameter's name.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence

PARAMETER = re.compile(r"`(\w+)`")


def options_of(parser: argparse.ArgumentParser, verb: str, words: Sequence[str]) -> dict[str, str]:
    """The option of each parameter that the command `verb` takes, as it stands in `words`."""
    typed = {word.partition("=")[0] for word in words}
    return {
        action.dest: next(
            (option for option in action.option_strings if option in typed),
            action.option_strings[0],
        )
        for action in option_actions(parser, verb)
        if action.option_strings
    }


def as_typed(message: str, options: Mapping[str, str]) -> str:
    """The message with options where it names parameters: --batch-size for `batch`."""
    return PARAMETER.sub(lambda found: options.get(found[1], found[0]), message)


def option_actions(parser: argparse.ArgumentParser, verb: str | None) -> Iterator[argparse.Action]:
    """The arguments of the command `verb`; with None, of this parser and all below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                if verb in (None, name):
                    yield from option_actions(inner, None)
        elif verb is None:
            yield action
