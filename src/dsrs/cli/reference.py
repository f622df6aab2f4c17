"""docs/commands.md, written from the commands themselves: `python -m dsrs.cli.reference`."""

from __future__ import annotations

import re

from dsrs.cli.main import known_commands
from dsrs.cli.options import Command, Option, Options
from dsrs.cli.parsing import laid_out, usage

HEAD = """\
# Commands

Every command with all of its options, written by `make reference` from the program. `--help` says
the same, with examples.
"""


def reference() -> str:
    """The page, as Markdown."""
    return "\n".join([HEAD, *(_section(command) for command in known_commands().leaves())])


def _section(command: Command) -> str:
    parts = [f"## {command.name}\n"]
    text = laid_out(command.description or command.help).strip()
    # A list in the text would not survive as Markdown.
    parts.append(f"```text\n{text}\n```\n" if "\n  " in text else _markdown(text) + "\n")
    parts.append(f"```text\n{usage(command)}\n```\n")
    parts += [_table(group) for group in command.groups if group.options]
    return "\n".join(parts)


def _table(group: Options) -> str:
    rows = [f"| {_code(option)} | {_markdown(option.described)} |" for option in group.options]
    head = f"| {group.title or 'options'} | |\n|---|---|"
    return "\n".join([head, *rows]) + "\n"


def _code(option: Option) -> str:
    """What is typed for an option: its name and its values, each as code."""
    name, *values = option.words
    return " ".join(_markdown(f"`{part}`") for part in (name, " ".join(values)) if part)


def _markdown(text: str) -> str:
    """A text with what would break a table, or vanish as a tag, made harmless."""
    return re.sub(r"<(?=\w)", "&lt;", text).replace("|", "\\|")


if __name__ == "__main__":
    print(reference(), end="")
