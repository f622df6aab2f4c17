"""The rigorous check: certificates proved again in ball arithmetic, from votes to radius.

Nothing here is shared with the code that made the certificates: this room imports no other room,
reads every file with readers of its own, and computes with python-flint alone. `kinds` has a file
for each kind of proof, `methods` one for each way from votes to bounds; what they do not know is
undecided, by its name. docs/check.md says what a verdict rests on.
"""

from __future__ import annotations

from typing import Any

from dsrs.audit.limits import PROCESSOR_SECONDS
from dsrs.audit.verdicts import WORDS, Verdict, Word

NOTHING_PROVED = (
    "python-flint is not installed, so nothing was proved; install it with: "
    "pip install python-flint"
)


def check(certificate: Any, *, seconds: float = PROCESSOR_SECONDS) -> Verdict:
    """Prove a certificate again in ball arithmetic.

    The bounds of probabilities that it starts from are taken as given; `dsrs check` on a run folder
    proves these as well, from the votes.

    Args:
        certificate: a `Certificate`, or its JSON as a dictionary (format 2 or 3).
        seconds: processor seconds after which the verdict is `undecided`.

    Returns:
        The verdict: its `word` is `verified`, `refuted`, `undecided`, or `abstained` where the
        certificate claims nothing; `reason` says why. It is true only if it is verified.
    """
    try:
        from dsrs.audit.checking import check_certificate
    except ModuleNotFoundError as error:
        if error.name != "flint":
            raise
        return Verdict("", "undecided", NOTHING_PROVED)
    fields = certificate.to_dict() if hasattr(certificate, "to_dict") else certificate
    return check_certificate(fields, seconds=seconds)


__all__ = ["NOTHING_PROVED", "WORDS", "Verdict", "Word", "check"]
