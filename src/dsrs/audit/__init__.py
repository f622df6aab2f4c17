"""The rigorous check: certificates proved again in ball arithmetic, from votes to radius.

Nothing here is shared with the code that made the certificates: this room imports no other room,
reads every file with readers of its own, and computes with python-flint alone. `kinds` has a file
for each kind of proof, `methods` one for each way from votes to bounds; what they do not know is
undecided, by its name. docs/check.md says what a verdict rests on.
"""

from __future__ import annotations

from typing import Any

from dsrs.audit.limits import PROCESSOR_SECONDS
from dsrs.audit.verdicts import VERDICT_WORDS, Verdict, Word

NOTHING_PROVED = (
    "python-flint is not installed, or cannot be imported, so nothing was proved; install it with: "
    "pip install python-flint"
)


def check(certificate: Any, *, seconds: float = PROCESSOR_SECONDS) -> Verdict:
    """Prove a certificate again in ball arithmetic.

    The bounds of probabilities that it starts from are taken as given; `dsrs check` on a run folder
    proves these as well, from the votes.

    Args:
        certificate: a `Certificate`, or its JSON as a dictionary.
        seconds: processor seconds after which the verdict is `undecided`.

    Returns:
        The verdict: its `word` is `verified`, `refuted`, `undecided`, or `abstained` where the
        certificate claims nothing; `reason` says why. It is true only if it is verified.
    """
    try:
        from dsrs.audit.checking import check_certificate
    except ImportError as error:
        if not is_of_flint(error):
            raise
        return Verdict("", "undecided", NOTHING_PROVED)
    try:
        fields = certificate.to_dict() if hasattr(certificate, "to_dict") else certificate
    except Exception as error:
        reason = f"its fields cannot be written as JSON: {type(error).__name__}: {error}"
        return Verdict("", "refuted", f"this is not a certificate: {reason}")
    return check_certificate(fields, seconds=seconds)


def is_of_flint(error: ImportError) -> bool:
    """Whether python-flint cannot be imported: it is missing, broken, or another `flint`."""
    return (error.name or "").partition(".")[0] == "flint"


__all__ = ["NOTHING_PROVED", "VERDICT_WORDS", "Verdict", "Word", "check", "is_of_flint"]
