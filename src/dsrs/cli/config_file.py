"""`--config FILE`: options of a command in a TOML file, and the file of a command's options.

A key is the long name of an option without its dashes: `batch-size = 64`, `q = ["truncated:0.8"]`,
`no-labels = true`. What is typed on the command line takes the place of what the file says.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dsrs.cli.option_names import option_actions
from dsrs.errors import DataError

NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?(e[-+]?\d+)?")
CONFIG = "config"
NOT_IN_A_FILE = ("help", CONFIG)
# Of the command and the machine, not of what is computed.
NOT_KEPT = (
    *("output", "workers", "shard", "cluster", "threads-per-actor"),
    *("json", "quiet", "verbose", "law"),
)
# What is typed (by `dest`) -> what of the file it makes void: they cannot be used together.
INSTEAD_OF = {
    "law": ("sigma", "k", "eta", "methods"),
    "sigma": ("law",),
    "radius": ("adaptive", "radii", "precision"),
    "adaptive": ("radius",),
    "alpha": ("family_alpha",),
    "family_alpha": ("alpha",),
    "radii": ("precision",),
    "precision": ("radii",),
    "no_labels": ("labels", "target"),
    "indices": ("start", "stop", "skip"),
    **dict.fromkeys(("start", "stop", "skip"), ("indices",)),
}


def add_config_option(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--config",
        metavar="FILE",
        help="take options from this TOML file, such as the run.toml of a run; those that are "
        "typed here come first",
    )


def with_config(
    parser: argparse.ArgumentParser, verb: str | None, words: Sequence[str]
) -> list[str]:
    """The words of a command line with those of its --config file before them."""
    typed = list(words)
    known = {_key(action): action for action in option_actions(parser, verb) if _key(action)}
    if CONFIG not in known or not any(word.startswith("--c") for word in typed):
        return typed
    given = _given(parser, list(known.values()), typed)
    if given.get(CONFIG) is None:
        return typed
    file = Path(given[CONFIG])
    void = {*given, *(dest for name in given for dest in INSTEAD_OF.get(name, ()))}
    taken = []
    for key, value in _read(file).items():
        if key not in known or key in NOT_IN_A_FILE:
            names = ", ".join(sorted(known.keys() - set(NOT_IN_A_FILE)))
            raise DataError(f"{file}: `{key}` is no option of {verb}; the options are {names}")
        words_of_key = _words(known[key], value, f"{file}: `{key}`")
        taken += [] if known[key].dest in void else words_of_key
    return [*typed[:1], *taken, *typed[1:]]


def typed_texts(
    parser: argparse.ArgumentParser, verb: str | None, words: Sequence[str]
) -> dict[str, Any]:
    """The options among these words by their key in a file, as they were typed.

    Not what was made of them: an option's type may read more than a file could hold.
    """
    known = {action.dest: _key(action) for action in option_actions(parser, verb) if _key(action)}
    given = _given(parser, list(option_actions(parser, verb)), list(words), as_text=True)
    return {known[dest]: value for dest, value in given.items() if dest in known}


def config_text(options: Mapping[str, Any], comment: str) -> str:
    """The options of a command, by key, as TOML."""
    lines = [f"# {line}" for line in comment.splitlines()]
    lines += [
        f"{key} = {_toml(value)}"
        for key, value in options.items()
        if key not in NOT_KEPT and key not in NOT_IN_A_FILE
    ]
    return "\n".join(lines) + "\n"


def _given(
    parser: argparse.ArgumentParser,
    actions: Sequence[argparse.Action],
    words: list[str],
    as_text: bool = False,
) -> dict[str, Any]:
    """What the command line itself says, by `dest`: nothing is required, nothing is assumed."""
    before = [(action, action.required, action.default, action.type) for action in actions]
    for action in actions:
        action.required, action.default = False, argparse.SUPPRESS
        action.type = None if as_text else action.type
    try:
        return vars(parser.parse_args(words))
    finally:
        for action, required, default, kind in before:
            action.required, action.default, action.type = required, default, kind


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


def _words(action: argparse.Action, value: object, where: str) -> list[str]:
    """The words that say the same on the command line."""
    name = _option(action)
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise DataError(f"{where} must be true or false, got {value!r}")
        return [name] * value
    texts = [_text(one, where) for one in (value if isinstance(value, list) else [value])]
    if isinstance(action.nargs, int):
        return [name, *texts]
    if isinstance(action, argparse._AppendAction):
        return [f"{name}={text}" for text in texts]
    return [f"{name}={','.join(texts)}"]


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
    if NUMBER.fullmatch(text):
        return text
    # JSON escapes as TOML does, but for one character; half a surrogate has no place in a file.
    quoted = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    return quoted.encode("utf-8", "replace").decode()


def _key(action: argparse.Action) -> str:
    return _option(action).removeprefix("--")


def _option(action: argparse.Action) -> str:
    return next((text for text in action.option_strings if text.startswith("--")), "")
