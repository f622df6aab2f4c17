"""The command line: each verb is declared by `add_parser` of its file, and runs what it names.

A verb's file imports nothing heavy: what a command needs is imported when it runs, so that help is
there at once.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module

from dsrs import __version__
from dsrs.cli.options import Command, Commands
from dsrs.cli.output import notes_on_stderr, printable_output
from dsrs.cli.parsing import HelpAsked, parse, suggestion
from dsrs.errors import DsrsError, InvalidInput

# Each verb and its file, in the order in which `dsrs --help` shows them.
VERBS = {
    "demo": "first_steps",
    "radius": "radius",
    "check": "check",
    "recertify": "recertify",
    "landscape": "tune",
    "tune": "tune",
    "certify": "certify",
    "predict": "predict",
    "conformal": "conformal",
    "served": "predict",
    "attack": "attack",
    "report": "reports",
    "compare": "reports",
    "gate": "reports",
    "show": "runs",
    "merge": "recertify",
    "export": "runs",
    "import": "runs",
    "adapt": "adapt",
    "train": "train",
    "doctor": "first_steps",
    "completion": "reference",
}

VERB_ALIASES = {"audit": "check"}

DESCRIPTION = """\
Prove that a smoothed classifier cannot be fooled: largest provable radii by Neyman-Pearson and by
double sampling.
"""
EXIT_CODES = """\
exit codes:
  0    done
  1    the command ran, but something it was asked to do failed (some rows); `dsrs check`: a
       certificate is not proved, or there was nothing to prove
  2    bad arguments or bad input; nothing was changed
  3    `dsrs attack` refuted a certificate: a proved counterexample lies inside its radius
  4    `dsrs gate`: a requirement is not met
  130  interrupted (Ctrl-C); everything finished so far is kept

documentation: docs/index.md of the source distribution; `make docs` there builds it as a site
"""
PARAMETER = re.compile(r"`(\w+)`")
# Parameters that no option fills, as a person at the command line knows them.
UNTYPED = {"input_shape": "the shape of the data"}


def known_commands(verbs: Iterable[str] = VERBS) -> Commands:
    """The commands of the named verbs, by default of all of them."""
    declared = Commands("dsrs")
    for file in dict.fromkeys(VERBS[verb] for verb in verbs):
        import_module(f"dsrs.cli.{file}").add_parser(declared)
    return Commands("dsrs", {verb: declared.by_name[verb] for verb in verbs})


def parsed(argv: Sequence[str]) -> tuple[Command, argparse.Namespace]:
    """The command that these words name, and its arguments.

    Raises:
        HelpAsked: help or the version is asked for, or no command is named.
        InvalidInput: the words are not a command with its arguments.
    """
    verb = argv[0] if argv else "--help"
    if verb == "--version":
        raise HelpAsked(f"dsrs {__version__}")
    # The files of the other verbs stay unread.
    commands = known_commands([verb] if verb in VERBS else VERBS)
    if verb in ("-h", "--help"):
        raise HelpAsked(_overview(commands, DESCRIPTION, EXIT_CODES))
    words = list(argv)
    while True:
        name = words.pop(0) if words else "--help"
        command = commands.by_name.get(name)
        if command is None and name in ("-h", "--help"):
            raise HelpAsked(_overview(commands))
        if command is None:
            advice = suggestion(name, [*commands.by_name], f"see {commands.prefix} --help")
            raise InvalidInput(f"`{commands.prefix}` has no command {name!r}; {advice}")
        if command.commands is None:
            return command, parse(command, words)
        commands = command.commands


def _overview(commands: Commands, description: str = "", epilog: str = "") -> str:
    """The list of commands, and of those below one of them."""
    width = max(map(len, commands.by_name))
    lines = [f"  {name:<{width}}  {command.help}" for name, command in commands.by_name.items()]
    usage = f"usage: {commands.prefix} COMMAND [options]\n       {commands.prefix} COMMAND --help"
    if commands.prefix == "dsrs":
        usage += "\n       dsrs --version"
    parts = [usage, description.rstrip(), "commands:\n" + "\n".join(lines), epilog.rstrip()]
    return "\n\n".join(part for part in parts if part)


def main(argv: list[str] | None = None) -> int:
    """Run one command; return its exit code."""
    with printable_output():
        verb, *rest = (sys.argv[1:] if argv is None else argv) or [""]
        return _run([VERB_ALIASES.get(verb, verb), *rest] if verb else rest)


def _run(argv: Sequence[str]) -> int:
    verbose, names = False, {}
    try:
        try:
            command, arguments = parsed(argv)
        except HelpAsked as asked:
            print(asked, flush=True)
            return 0
        names = UNTYPED | {option.parameter: option.name for option in command.all_options()}
        verbose = getattr(arguments, "verbose", False)
        assert command.run is not None
        with notes_on_stderr(quiet=getattr(arguments, "quiet", False)):
            code = command.run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("\ninterrupted; everything finished so far is kept", file=sys.stderr)
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # `dsrs ... | head` closed the pipe: not an error; keep the interpreter from complaining.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except DsrsError as error:
        return _refused(as_typed(str(error), names), verbose)
    except OSError as error:
        # A name too long, a folder that may not be read: what the system says of which file.
        where = "" if error.filename is None else f"{error.filename}: "
        return _refused(f"{where}{error.strerror or error}", verbose)


def as_typed(message: str, names: Mapping[str, str]) -> str:
    """The message with options where it names parameters: --batch-size for `batch`.

    Errors of the library name its parameters; a person at the command line typed options.
    """
    return PARAMETER.sub(lambda named: names.get(named[1], named[0]), message)


def _refused(message: str, verbose: bool) -> int:
    if verbose:
        traceback.print_exc()
    print(f"dsrs: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
