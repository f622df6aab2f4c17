"""The command line: one file a verb, each with `add_parser` and `run`.

A verb's file imports nothing heavy: what a command needs is imported when it runs, so that help is
there at once.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from dsrs.cli.config_file import with_config
from dsrs.cli.option_names import as_typed, options_of
from dsrs.cli.terminal import notes_on_stderr, printable_output
from dsrs.errors import DsrsError

# In the order in which `dsrs --help` shows them.
VERBS = (
    "demo",
    "radius",
    "check",
    "recertify",
    "landscape",
    "tune",
    "certify",
    "predict",
    "attack",
    "report",
    "show",
    "repair",
    "merge",
    "export",
    "import_",
    "train",
    "paper",
    "theory",
    "montecarlo",
    "completion",
)

ALIASES = {"audit": "check"}

EXIT_CODES = """\
exit codes:
  0    done
  1    the command ran, but something it was asked to do failed (some rows); `dsrs check` refuted
       a certificate
  2    bad arguments or bad input; nothing was changed
  3    `dsrs attack` refuted a certificate: a proved counterexample lies inside its radius;
       `dsrs check` refuted none, but could not verify all, or there was nothing to verify
  130  interrupted (Ctrl-C); everything finished so far is kept
"""


def build_parser(verbs: Sequence[str] = VERBS) -> argparse.ArgumentParser:
    """The parser of the named verbs, by default of all of them."""
    parser = argparse.ArgumentParser(
        prog="dsrs",
        description="Prove that a smoothed classifier cannot be fooled: largest provable radii "
        "by Neyman-Pearson and by double sampling.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    from dsrs import __version__

    parser.add_argument("--version", action="version", version=f"dsrs {__version__}")
    commands = parser.add_subparsers(dest="verb", metavar="COMMAND", required=True)
    for verb in verbs:
        import_module(f"dsrs.cli.{verb}").add_parser(commands)
    return parser


def _verbs_of(argv: Sequence[str]) -> Sequence[str]:
    """The verb that is asked for, so that the files of the others stay unread; else all verbs."""
    asked = [verb for verb in VERBS if argv and verb.rstrip("_") == argv[0]]
    return asked or VERBS


def main(argv: list[str] | None = None) -> int:
    """Run one command; return its exit code."""
    with printable_output():
        verb, *rest = (sys.argv[1:] if argv is None else argv) or [""]
        return _run([ALIASES.get(verb, verb), *rest] if verb else rest)


def _run(argv: Sequence[str]) -> int:
    verbose, options = False, {}
    try:
        parser = build_parser(_verbs_of(argv))
        argv = with_config(parser, argv[0] if argv else None, argv)
        arguments = parser.parse_args(argv)
        arguments.words = argv
        options = options_of(parser, arguments.verb, argv)
        verbose = getattr(arguments, "verbose", False)
        with notes_on_stderr(quiet=getattr(arguments, "quiet", False)):
            code: int = arguments.run(arguments)
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
        return _refused(as_typed(str(error), options), verbose)
    except OSError as error:
        # A name too long, a folder that may not be read: what the system says of which file.
        where = "" if error.filename is None else f"{error.filename}: "
        return _refused(f"{where}{error.strerror or error}", verbose)


def _refused(message: str, verbose: bool) -> int:
    if verbose:
        traceback.print_exc()
    print(f"dsrs: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
