"""From the words of a command line and a --config file to the arguments of a command: one parse.

argparse splits the words into options and their texts, and lays out the help. What it splits is
joined with the --config file and only then read by the types of the options, so that the texts as
they were typed are there as well: run.toml is written from them.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Container, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from textwrap import fill
from typing import Any, NoReturn

from dsrs.cli.options import Command, Option, Options, Typed
from dsrs.errors import DataError, InvalidInput

# ---- `--config FILE`: options of a command in a TOML file, and the file of a command's options
#
# A key is the long name of an option without its dashes: `batch-size = 64`, `q =
# ["truncated:0.8"]`, `no-labels = true`. What is typed on the command line takes the place of what
# the file says.

TOML_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?(e[-+]?\d+)?")
CONFIG_OPTION = "config"
TRUST_OPTION = "trust-code"  # which no file can give to itself
# What is typed (by parameter) -> what of the file it makes void: they cannot be used together.
INSTEAD_OF = {
    "law": ("sigma", "k", "eta", "methods"),
    "sigma": ("law",),
    "budget": ("n",),
    "radius": ("adaptive", "radii", "radius_precision"),
    "adaptive": ("radius",),
    "alpha": ("family_alpha",),
    "family_alpha": ("alpha",),
    "radii": ("radius_precision",),
    "radius_precision": ("radii",),
    "no_labels": ("labels", "label_column", "target"),
    "indices": ("start", "stop", "skip"),
    **dict.fromkeys(("start", "stop", "skip"), ("indices",)),
}


def add_config_option(group: Options) -> None:
    """--config of a command."""
    group.add_argument(
        f"--{CONFIG_OPTION}",
        metavar="FILE",
        kept=False,
        help="take options from this TOML file, such as the run.toml of a run; those that are "
        "typed here come first",
    )


def read_config(file: str, command: Command, typed: Container[str]) -> dict[str, Typed]:
    """What a file says of the options of `command`, by parameter, as it would be typed.

    Options that are `typed`, and those that cannot be used with them, are left out.
    """
    known = {option.key: option for option in command.all_options() if option.named}
    for name in (CONFIG_OPTION, TRUST_OPTION):
        known.pop(name, None)
    void = {other for name, others in INSTEAD_OF.items() if name in typed for other in others}
    given: dict[str, Typed] = {}
    for key, value in _read(Path(file)).items():
        if key not in known:
            raise DataError(
                f"{file}: `{key}` is no option of `{command.name}`; the options are "
                f"{', '.join(sorted(known))}"
            )
        text = _as_typed(known[key], value, f"{file}: `{key}`")
        parameter = known[key].parameter
        if parameter not in typed and parameter not in void and text is not False:
            given[parameter] = text
    return given


def config_text(options: Mapping[str, Any], comment: str) -> str:
    """The options of a command, by key, as TOML."""
    lines = [f"# {line}" for line in comment.splitlines()]
    lines += [f"{key} = {_toml(value)}" for key, value in options.items()]
    return "\n".join(lines) + "\n"


def _read(file: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file} cannot be read as TOML: {error}") from None


def _as_typed(option: Option, value: object, where: str) -> Typed:
    """The texts that say the same on the command line."""
    if option.action == "store_true":
        if not isinstance(value, bool):
            raise DataError(f"{where} must be true or false, got {value!r}")
        return value
    texts = [_text(part, where) for part in (value if isinstance(value, list) else [value])]
    if option.nargs is not None and len(texts) != option.nargs:
        raise DataError(f"{where} must be a list of {option.nargs} values, got {value!r}")
    if option.nargs is not None or option.action == "append":
        return texts
    return ",".join(texts)


def _text(value: object, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise DataError(f"{where} must be a text, a number or a list of them, got {value!r}")
    return value if isinstance(value, str) else repr(value)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    text = value if isinstance(value, str) else repr(value)
    if TOML_NUMBER.fullmatch(text):
        return text
    # JSON escapes as TOML does, but for one character; half a surrogate has no place in a file.
    quoted = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    return quoted.encode("utf-8", "replace").decode()


# ---- Words

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
