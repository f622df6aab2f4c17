"""`dsrs check`: verify saved certificates without any search."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dsrs.cli.options import Commands
from dsrs.errors import DataError
from dsrs.measures.rounding import floor_text


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "check",
        help="verify the proof of a certificate, without any search",
        description="Read certificates in JSON, one a line (as `dsrs radius --json` prints them), "
        "evaluate the dual bound of each proof and recompute every derived number. "
        "Exit code 1 if one does not hold.",
    )
    parser.add_argument("file", help="a file of certificates, or - for standard input")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from dsrs.duality.kernel import prepare
    from dsrs.proofs.certificate import Certificate
    from dsrs.proofs.checking import find_flaw

    if arguments.file == "-":
        text = sys.stdin.read()
    else:
        try:
            text = Path(arguments.file).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"cannot read {arguments.file}: {error}") from None
    certificates = [Certificate.from_json(line) for line in text.splitlines() if line.strip()]
    if not certificates:
        raise DataError(f"{arguments.file} holds no certificates")
    prepare(len(certificates))
    failed = 0
    for certificate in certificates:
        flaw = find_flaw(certificate)
        failed += flaw is not None
        claim = (
            f"radius {floor_text(certificate.radius, 6)}"
            if certificate.status == "certified"
            else certificate.status
        )
        verdict = "holds" if flaw is None else f"DOES NOT HOLD ({flaw})"
        print(f"{verdict}: {claim}, {certificate.law.describe()}")
    return 1 if failed else 0
