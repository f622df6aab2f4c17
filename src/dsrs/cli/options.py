"""What each command takes, declared once.

The parser, the help, the keys of a --config file, the completion of a shell and the names in error
messages are all made from these records. A verb declares its options in argparse's words:
`add_parser`, `add_argument_group`, `add_argument`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from importlib import import_module
from typing import Any, Literal

from dsrs.errors import InvalidInput

# ---- How the command line writes numbers, lists of numbers and choices

MOST_DIGITS = 40  # of a whole number with an exponent: 1e999999999 would fill the memory
MOST_INDICES = 10_000_000


def whole_number(text: str) -> int:
    """100000, 100_000 or 1e5 as a whole number."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = Decimal(text)
        if value.is_finite() and value.adjusted() < MOST_DIGITS and value == value.to_integral():
            return int(value)
    except InvalidOperation:
        pass
    raise InvalidInput(f"expected a whole number, such as 1000 or 1e5, got {text!r}")


def number(text: str) -> float:
    """0.5 or 1e-3 as a number."""
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"expected a number, such as 0.5, got {text!r}") from None


def numbers(text: str) -> tuple[float, ...]:
    """0.49,0.48,0.45 as numbers."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput(
            f"expected numbers with commas between, such as 0.49,0.48,0.45, got {text!r}"
        ) from None


def whole_numbers(text: str) -> tuple[int, ...]:
    """3,14,15 or 3,10-19 as numbers."""
    listed: list[int] = []
    try:
        for part in text.split(","):
            first, dash, last = part.partition("-")
            if not (dash and first):
                listed.append(whole_number(part))
                continue
            start, stop = whole_number(first), whole_number(last) + 1
            if not start < stop <= start + MOST_INDICES:
                raise InvalidInput("an empty or endless range")
            listed.extend(range(start, stop))
    except InvalidInput:
        raise InvalidInput(
            f"expected whole numbers with commas between, such as 3,14,15 or 0-9,20, got {text!r}"
        ) from None
    return tuple(listed)


def one_of(module: str, name: str) -> Callable[[str], str]:
    """A `type` of an option that accepts the names in `name` of `module`.

    The module is loaded only when the option is given: help must not load what it names.
    """

    def chosen(text: str) -> str:
        known = tuple(getattr(import_module(module), name))
        if text not in known:
            raise InvalidInput(f"expected one of {', '.join(known)}, got {text!r}")
        return text

    return chosen


# ---- Options and commands

Run = Callable[[argparse.Namespace], int]
# What was typed for an option: its text, its texts, one of these for each time, or True of a flag.
Typed = str | list[str] | list[list[str]] | bool

READERS: dict[Any, Callable[[str], Any]] = {int: whole_number, float: number}


@dataclass(frozen=True)
class Option:
    """One option, or one word without a name in front of it.

    Attributes:
        name: `--batch-size`; without dashes it is a word that stands by itself.
        help: what it does, in a line or two.
        type: reads one text, by default as a number if the default is one; `int` and `float` also
            read 1e5.
        default: the value where the option is not given.
        action: `store_true` for a flag, `append` for an option that may be repeated.
        nargs: how many texts follow, `+` for at least one (of a word without a name).
        choices: the texts that are allowed.
        metavar: what stands for its value in the help.
        dest: the parameter that it fills, by default its name.
        required: whether the command needs it.
        kept: whether run.toml keeps it, which repeats what is computed and not where.
        rivals: the options of which only one can be given, this one included.
    """

    name: str
    help: str = ""
    type: Callable[[str], Any] | None = None
    default: Any = None
    action: Literal["store", "store_true", "append"] = "store"
    nargs: int | Literal["+"] | None = None
    choices: Sequence[str] = ()
    metavar: str | tuple[str, ...] | None = None
    dest: str = ""
    required: bool = False
    kept: bool = True
    rivals: Rivals | None = None

    @property
    def named(self) -> bool:
        """Whether it has dashes."""
        return self.name.startswith("--")

    @property
    def key(self) -> str:
        """Its name in a --config file."""
        return self.name.removeprefix("--")

    @property
    def parameter(self) -> str:
        """The parameter that it fills."""
        return self.dest or self.key.replace("-", "_")

    @property
    def shown(self) -> str | tuple[str, ...]:
        """What stands for its value in the help."""
        if self.metavar is not None:
            return self.metavar
        if self.choices:
            return f"{{{','.join(self.choices)}}}"
        return self.key.replace("-", "_").upper()

    @property
    def words(self) -> list[str]:
        """What is typed in its place in the usage: its name, if it has one, and its values."""
        name = [self.name] if self.named else []
        if self.action == "store_true":
            return name
        return [*name, self.shown] if isinstance(self.shown, str) else [*name, *self.shown]

    @property
    def described(self) -> str:
        """Its text, which says whether the option is needed, and its default."""
        if self.named and self.required:
            return f"{self.help} (required)"
        plain = isinstance(self.default, (str, int, float)) and not isinstance(self.default, bool)
        if plain and "default" not in self.help:
            value = f"{self.default:g}" if isinstance(self.default, float) else self.default
            return f"{self.help} (default: {value})"
        return self.help

    @property
    def unset(self) -> Any:
        """The value where it is not given."""
        return self.default if self.default is not None or self.action != "store_true" else False

    def value(self, typed: Typed, label: str) -> Any:
        """What was typed, as its type reads it; `label` names the option in errors."""
        if isinstance(typed, list):
            return [self.value(part, label) for part in typed]
        if isinstance(typed, bool):
            return typed
        if self.choices and typed not in self.choices:
            raise InvalidInput(f"{label}: expected one of {', '.join(self.choices)}, got {typed!r}")
        read = READERS.get(self.type or type(self.default), self.type)
        try:
            return typed if read is None else read(typed)
        except (argparse.ArgumentTypeError, ValueError) as error:
            raise InvalidInput(f"{label}: {error}") from None


@dataclass(eq=False)
class Rivals:
    """Options of which at most one can be given; if `required`, exactly one."""

    required: bool = False
    options: list[Option] = field(default_factory=list)


@dataclass(eq=False)
class Options:
    """A list of options under a title of the help; `rivals` cannot be given together."""

    title: str = ""
    rivals: Rivals | None = None
    options: list[Option] = field(default_factory=list)

    def add_argument(self, name: str, **fields: Any) -> None:
        """Declare an option; the fields are those of `Option`."""
        option = Option(name, rivals=self.rivals, **fields)
        self.options.append(option)
        if self.rivals is not None:
            self.rivals.options.append(option)

    def add_mutually_exclusive_group(self, required: bool = False) -> Options:
        """Options of which at most one can be given, under the same title."""
        return Options(self.title, Rivals(required), self.options)


@dataclass(eq=False)
class Command(Options):
    """A command: its texts, its options, and what it runs or the commands below it.

    `help` is its line in the list of commands.
    """

    name: str = ""
    run: Run | None = None
    help: str = ""
    description: str = ""
    epilog: str = ""
    commands: Commands | None = None

    def __post_init__(self) -> None:
        self.groups: list[Options] = [self]

    def add_argument_group(self, title: str) -> Options:
        """Options under a title of their own."""
        self.groups.append(Options(title))
        return self.groups[-1]

    def add_subparsers(self) -> Commands:
        """The commands below this one."""
        self.commands = Commands(self.name)
        return self.commands

    def all_options(self) -> list[Option]:
        """The options of all groups."""
        return [option for group in self.groups for option in group.options]


@dataclass(eq=False)
class Commands:
    """The commands of the program, or those below one of them, by name."""

    prefix: str
    by_name: dict[str, Command] = field(default_factory=dict)

    def add_parser(self, name: str, **fields: Any) -> Command:
        """Declare a command; the fields are those of `Command`."""
        self.by_name[name] = Command(name=f"{self.prefix} {name}", **fields)
        return self.by_name[name]

    def leaves(self) -> Iterator[Command]:
        """The commands that run something, those below others included."""
        for command in self.by_name.values():
            if command.commands is None:
                yield command
            else:
                yield from command.commands.leaves()
