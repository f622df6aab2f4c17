"""`dsrs completion`: what a shell needs to complete commands and options with the Tab key."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

EPILOG = """\
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


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "completion",
        help="a script that completes commands and options in your shell",
        description="Print a script for the shell, made from the commands as they are.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from dsrs.cli.main import build_parser

    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[arguments.shell](_words(build_parser())))
    return 0


def _words(parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    """What may stand behind each command: its options, and its own commands."""
    (commands,) = (
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    )
    return {name: _of(inner) for name, inner in commands.choices.items()}


def _of(parser: argparse.ArgumentParser) -> list[str]:
    words: list[str] = []
    for action in parser._actions:
        words += [option for option in action.option_strings if option.startswith("--")]
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                words += [name, *_of(inner)]
    return list(dict.fromkeys(words))


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
