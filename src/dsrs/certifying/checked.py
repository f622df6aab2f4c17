"""`dsrs.check`: certificates proved again, whatever holds them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, overload

from dsrs.audit import NOTHING_PROVED, VERDICT_WORDS, Verdict, is_of_flint
from dsrs.audit import check as check_one
from dsrs.audit.limits import PROCESSOR_SECONDS
from dsrs.errors import DataError, InvalidInput
from dsrs.proofs import Certificate
from dsrs.store import refuse_strange_files


class Verdicts(tuple[Verdict, ...]):
    """The verdicts of all certificates of a run or a file.

    They are true in a condition only if one is `verified`, and all others are or claim nothing.

    Args:
        iterable: the verdicts.
    """

    def __bool__(self) -> bool:
        return {verdict.word for verdict in self} - {"abstained"} == {"verified"}

    def __repr__(self) -> str:
        words = [verdict.word for verdict in self]
        return ", ".join(f"{words.count(word):,} {word}" for word in VERDICT_WORDS)


@overload
def check(
    certificates: str | os.PathLike[str], *, seconds: float = PROCESSOR_SECONDS
) -> Verdicts: ...
@overload
def check(certificates: Any, *, seconds: float = PROCESSOR_SECONDS) -> Verdict: ...
def check(
    certificates: Certificate | Mapping[str, Any] | str | os.PathLike[str],
    *,
    seconds: float = PROCESSOR_SECONDS,
) -> Verdict | Verdicts:
    """Prove certificates again in ball arithmetic.

    Bounds of probabilities are taken as given, but for those of a run, which follow from its votes.

    Args:
        certificates: a `Certificate`, its JSON as a dictionary, a run (`CertifiedRun`, or its
            folder), or a JSON file of certificates or prediction sets.
        seconds: processor seconds after which the verdict on a certificate is `undecided`.

    Returns:
        The verdict, or those of all certificates of a run or file. A verdict's `word` is
        `verified`, `refuted`, `undecided`, or `abstained` where nothing is claimed; `reason` says
        why. It is true only if it is verified.

    Raises:
        InvalidInput: this is nothing that can be checked.
        DataError, StoreError: the file or folder cannot be read.
    """
    if isinstance(certificates, str | os.PathLike):
        return _check_path(Path(certificates), seconds)
    is_sets = getattr(certificates, "kind", None) == "prediction sets"
    if is_sets or isinstance(certificates, Certificate | Mapping):
        return check_one(certificates, seconds=seconds)
    raise InvalidInput(
        "expected a certificate, a run, or the path of a run folder or a file of certificates, got "
        f"{type(certificates).__name__}"
    )


def _check_path(path: Path, seconds: float) -> Verdicts:
    try:
        from dsrs.audit.items import items_of_json, items_of_run
        from dsrs.audit.verdicts import Unreadable
    except ImportError as error:
        if not is_of_flint(error):
            raise
        return Verdicts([Verdict(str(path), "undecided", NOTHING_PROVED)])
    try:
        if path.is_dir():
            refuse_strange_files(path)
            items = items_of_run(path)
        elif path.is_file():
            items = items_of_json(path.read_text("utf-8"))
        else:
            raise DataError(f"{path} is no file and no folder")
    except (Unreadable, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be checked: {error}") from None
    return Verdicts(item.check(seconds) for item in items)
