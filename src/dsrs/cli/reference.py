"""What is made from the commands as they are: docs/commands.md, and completion in a shell.

`python -m dsrs.cli.reference` prints the page; `dsrs completion` prints the script of a shell.
"""

from __future__ import annotations

import argparse
import re
import shlex

from dsrs.cli.main import known_commands
from dsrs.cli.options import Command, Commands, Option, Options
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


# ---- `dsrs completion`: what a shell needs to complete commands and options with the Tab key

COMPLETION_EPILOG = """\
examples:
  eval "$(dsrs completion bash)"                               in ~/.bashrc
  eval "$(dsrs completion zsh)"                                in ~/.zshrc
  dsrs completion fish > ~/.config/fish/completions/dsrs.fish
"""

BASH = """\
_dsrs() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" words=""
    if [ "$COMP_CWORD" -eq 1 ]; then words={commands}; else
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac; fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [ "${{#COMPREPLY[@]}}" -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}}
complete -F _dsrs dsrs
"""


def add_completion(commands: Commands) -> None:
    parser = commands.add_parser(
        "completion",
        run=run_completion,
        help="a script that completes commands and options in your shell",
        description="Print a script for the shell, made from the commands as they are.",
        epilog=COMPLETION_EPILOG,
    )
    parser.add_argument(
        "shell", choices=tuple(COMPLETION_SCRIPTS), help="the shell that reads the script"
    )


def run_completion(arguments: argparse.Namespace) -> int:
    print(COMPLETION_SCRIPTS[arguments.shell](_words(known_commands())))
    return 0


def _words(commands: Commands) -> dict[str, list[str]]:
    """What may stand behind each command: its options, and its own commands with theirs."""
    words = {}
    for name, command in commands.by_name.items():
        words[name] = ["--help", *(option.name for option in command.all_options() if option.named)]
        if command.commands is not None:
            for inner, options in _words(command.commands).items():
                words[name] += [inner, *options]
        words[name] = list(dict.fromkeys(words[name]))
    return words


def _bash(words: dict[str, list[str]]) -> str:
    cases = "\n".join(
        f"    {name}) words={shlex.quote(' '.join(options))};;" for name, options in words.items()
    )
    return BASH.format(commands=shlex.quote(" ".join(words)), cases=cases)


def _zsh(words: dict[str, list[str]]) -> str:
    return "autoload -Uz compinit bashcompinit; compinit; bashcompinit\n" + _bash(words)


def _fish(words: dict[str, list[str]]) -> str:
    lines = [f"complete -c dsrs -n __fish_use_subcommand -f -a {shlex.quote(' '.join(words))}"]
    for name, options in words.items():
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        lines += [
            f"complete -c dsrs {seen} -l {word[2:]}"
            if word.startswith("--")
            else f"complete -c dsrs {seen} -f -a {word}"
            for word in options
        ]
    return "\n".join(lines)


COMPLETION_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}


def add_parser(commands: Commands) -> None:
    """Declare the verbs of this file."""
    add_completion(commands)


if __name__ == "__main__":
    print(reference(), end="")
