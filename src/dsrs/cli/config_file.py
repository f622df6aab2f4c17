"""`--config FILE`: options of a command in a TOML file, and the file of a command's options.

A key is the long name of an option without its dashes: `batch-size = 64`, `q = ["truncated:0.8"]`,
`no-labels = true`. What is typed on the command line takes the place of what the file says.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

from dsrs.cli.options import Command, Option, Options, Typed
from dsrs.errors import DataError

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
