"""From the words of a command line to the arguments of a command: one parse.

argparse splits the words into options and their texts, and lays out the help. What it splits is
joined with the --config file and only then read by the types of the options, so that the texts as
they were typed are there as well: run.toml is written from them.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from textwrap import fill
from typing import Any, NoReturn

from dsrs.cli.config_file import CONFIG_OPTION, read_config
from dsrs.cli.options import Command, Option, Typed
from dsrs.errors import InvalidInput

HELP_WIDTH = 100  # characters of a line of help


class HelpAsked(Exception):
    """The words ask for a text, which is the message: help, or the version."""


class _Splitter(argparse.ArgumentParser):
    """argparse without an exit: its complaints become errors of one line."""

    def error(self, message: str) -> NoReturn:
        raise InvalidInput(f"{message.removeprefix('argument ')}; see {self.prog} --help")


def parse(command: Command, words: Sequence[str]) -> argparse.Namespace:
    """The arguments of `command` in these words, by parameter.

    Its `texts` are what was given to options that run.toml keeps, by their keys there, as it was
    typed here or stands in the --config file; `untyped` are the parameters that only the file has.

    Raises:
        HelpAsked: --help is among the words.
        InvalidInput: a word is unknown, missing, or cannot be read.
    """
    typed, from_file = _split(command, words), dict[str, Typed]()
    options = {option.parameter: option for option in command.all_options()}
    labels = {parameter: option.name for parameter, option in options.items()}
    file = typed.get(CONFIG_OPTION)
    if isinstance(file, str):
        from_file = read_config(file, command, typed)
        labels |= {parameter: f"{file}: `{options[parameter].key}`" for parameter in from_file}
        typed = from_file | typed
    _check_presence(command, typed)
    arguments: dict[str, Any] = {
        parameter: option.value(typed[parameter], labels[parameter])
        if parameter in typed
        else option.unset
        for parameter, option in options.items()
    }
    texts = {
        options[parameter].key: text
        for parameter, text in typed.items()
        if options[parameter].named and options[parameter].kept
    }
    return argparse.Namespace(**arguments, texts=texts, untyped=frozenset(from_file))


def help_of(command: Command) -> str:
    """The help of a command that runs something."""
    return _splitter(command, for_help=True).format_help()


def suggestion(word: str, known: Sequence[str], otherwise: str) -> str:
    """`did you mean X?` where one of the known words is like this one, else `otherwise`."""
    plain = {name.lstrip("-"): name for name in known}
    like = word.lstrip("-").lower().replace("_", "-")
    close = get_close_matches(like, plain, n=1)
    return f"did you mean {plain[close[0]]}?" if close else otherwise


def _split(command: Command, words: Sequence[str]) -> dict[str, Typed]:
    """The texts of each option and of each word without a name."""
    # Behind a -- nothing is an option.
    cut = words.index("--") if "--" in words else len(words)
    known, loose = _splitter(command).parse_known_args(list(words[:cut]))
    given: dict[str, Typed] = vars(known)
    if given.pop("help", False):
        raise HelpAsked(help_of(command))
    names = [option.name for option in command.all_options() if option.named]
    for word in loose:
        if word.startswith("-") and word != "-" and not _is_number(word):
            name = word.partition("=")[0]
            advice = suggestion(name, names, f"see {command.name} --help")
            raise InvalidInput(f"`{command.name}` has no option {name}; {advice}")
    return given | _placed(command, [*loose, *words[cut + 1 :]])


def _placed(command: Command, words: list[str]) -> dict[str, Typed]:
    """The words without a name in their places; the last place may take several."""
    given: dict[str, Typed] = {}
    rest = words
    for option in (option for option in command.all_options() if not option.named):
        if rest:
            several = option.nargs == "+"
            given[option.parameter] = rest if several else rest[0]
            rest = [] if several else rest[1:]
    if rest:
        raise InvalidInput(
            f"`{command.name}` has no place for {rest[0]!r}; see {command.name} --help"
        )
    return given


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _check_presence(command: Command, typed: Mapping[str, Typed]) -> None:
    """Raise if something needed is missing, or options are given that exclude each other."""
    missing = []
    for option in command.all_options():
        group = option.rivals
        if group is None:
            needed = option.required or not option.named
            if needed and option.parameter not in typed:
                missing.append(option.name if option.named else " ".join(option.words))
        elif group.options[0] is option:
            given = [rival.name for rival in group.options if rival.parameter in typed]
            if len(given) > 1:
                raise InvalidInput(f"{' and '.join(given)} cannot be used together")
            if group.required and not given:
                missing.append(" or ".join(rival.name for rival in group.options))
    if missing:
        raise InvalidInput(
            f"`{command.name}` needs {', '.join(missing)}; see {command.name} --help"
        )


def _splitter(command: Command, for_help: bool = False) -> _Splitter:
    """argparse's parser of these options; everything stays text, and nothing has a default."""
    parser = _Splitter(
        prog=command.name,
        usage=usage(command).replace("%", "%%"),
        description=laid_out(command.description or command.help),
        epilog=command.epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        add_help=False,
    )
    for group in command.groups:
        titled = parser.add_argument_group(group.title) if group.title else parser
        for option in group.options:
            if option.named or for_help:
                _declare(titled, option)
    parser.add_argument("-h", "--help", action="store_true", help="show this help")
    return parser


def laid_out(text: str) -> str:
    """A text of several lines as it is, a single line wrapped."""
    return text if "\n" in text.strip() else fill(text, HELP_WIDTH)


def _declare(parser: argparse.ArgumentParser | Any, option: Option) -> None:
    fields: dict[str, Any] = {"help": option.described.replace("%", "%%")}
    if option.named:
        fields["dest"] = option.parameter
        fields["action"] = option.action
    if option.action != "store_true":
        fields["nargs"] = option.nargs
        fields["metavar"] = option.shown
    parser.add_argument(option.name, **fields)


def usage(command: Command) -> str:
    """One line: what the command needs. The rest is listed below it."""
    parts, told = [command.name], []
    for option in command.all_options():
        group = option.rivals
        if group is None and (option.required or not option.named):
            parts.append(_inusage(option))
        elif group is not None and group.required and group not in told:
            told.append(group)
            parts.append(f"({' | '.join(_inusage(rival) for rival in group.options)})")
    return " ".join([*parts, "[options]"])


def _inusage(option: Option) -> str:
    word = " ".join(option.words)
    return f"{word} [{word} ...]" if option.nargs == "+" else word
