"""Proof files written and checked: two programs, and a file between them."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dsrs.errors import DataError, DsrsError, InvalidInput
from dsrs.evidence.sources import (
    Evidence,
    evidence_of_certificates,
    evidence_of_file,
    evidence_of_run,
)
from dsrs.evidence.writing import Line
from dsrs.files import write_whole
from dsrs.proofs import Certificate
from dsrs.store import open_run

CHECKER = "dsrs_check"
PROOF_FILE = "proof.jsonl"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checker says of one certificate.

    It is true in a condition only if the certificate is proved.

    Args:
        name: of the certificate, such as `input 7, np`.
        proved: whether everything that it claims is proved.
        reason: why it is not.
        given: how many of its bounds rest on no votes.
    """

    name: str
    proved: bool
    reason: str = ""
    given: int = 0

    def __bool__(self) -> bool:
        return self.proved


@dataclass(frozen=True)
class Checked:
    """What the checker says of a proof file.

    It is true in a condition only if something is claimed, and all of it is proved.

    Args:
        verdicts: one for each certificate that claims something.
        abstained: how many claim nothing, and are not in the file.
        summary: the checker's, with the digests of the file and of the checker.
    """

    verdicts: tuple[Verdict, ...]
    abstained: int
    summary: Mapping[str, Any]

    def __bool__(self) -> bool:
        return bool(self.verdicts) and all(self.verdicts)

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    @property
    def proved(self) -> int:
        """Count the certificates that are proved."""
        return sum(map(bool, self.verdicts))

    def __repr__(self) -> str:
        text = f"{self.proved:,} of {len(self.verdicts):,} proved"
        return text if not self.abstained else f"{text}, {self.abstained:,} claim nothing"


def checker_path() -> Path:
    """The checker: one file, which the package brings along."""
    found = importlib.util.find_spec(CHECKER)
    if found is None or found.origin is None:
        raise DataError(f"the checker {CHECKER} is not installed; install dsrs again")
    return Path(found.origin)


def names_of(line: Line) -> list[str]:
    """What the checker calls the claims of a line of a proof file."""
    if "certificates" in line:
        return [f"input {line['input']}, {method}" for method in line["certificates"]]
    if "attack" in line:
        return [f"attack on input {line['attack']}, {line['method']}"]
    names = {"sets": f"sets {line.get('sets')}", "unproved": str(line.get("unproved"))}
    return [name for kind, name in names.items() if kind in line]


def some_of(
    evidence: Evidence, first: int = 1, sample: int | None = None, seed: int = 0
) -> Evidence:
    """The evidence of some claims: from the `first` one on, or a `sample` that `seed` draws."""
    names = [name for line in evidence.lines for name in names_of(line)]
    kept = names[first - 1 :]
    if sample is not None and sample < len(kept):
        kept = random.Random(seed).sample(kept, sample)
    if len(kept) == len(names):
        return evidence
    wanted, lines = set(kept), []
    for line in evidence.lines:
        own = names_of(line)
        if "certificates" in line:
            pairs = zip(own, line["certificates"].items(), strict=True)
            line = line | {"certificates": dict(pair for name, pair in pairs if name in wanted)}
        if "methods" in line or wanted & set(own):
            lines.append(line)
    part = f"{len(kept)} of {len(names)} claims, from number {first} on, seed {seed}"
    return replace(evidence, lines=lines, about={**evidence.about, "part": part})


def check_file(
    path: Path,
    each: Callable[[Verdict], None] | None = None,
    abstained: int = 0,
) -> Checked:
    """Run the checker on a proof file, in a process of its own that reads nothing else.

    Args:
        path: the proof file.
        each: is told every verdict as it comes.
        abstained: how many certificates claim nothing and are not in the file.
    """
    command = [sys.executable, "-I", str(checker_path()), str(path), "--json"]
    environment = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ
    }
    verdicts, summary = [], None
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            for line in process.stdout:
                said = json.loads(line)
                if "summary" in said:
                    summary = said["summary"]
                    continue
                verdict = Verdict(
                    said["name"], said["proved"], said.get("reason", ""), said.get("given", 0)
                )
                verdicts.append(verdict)
                if each is not None:
                    each(verdict)
        except BaseException:
            process.kill()
            raise
        errors = process.stderr.read().strip()
    if summary is None:
        raise DataError(
            errors.splitlines()[-1] if errors else "the checker ended without an answer"
        )
    return Checked(tuple(verdicts), abstained, summary)


def check_evidence(
    evidence: Evidence,
    proof: str | os.PathLike[str] | None = None,
    each: Callable[[Verdict], None] | None = None,
) -> Checked:
    """Write a proof file, kept where `proof` says, and check it."""
    with TemporaryDirectory(prefix="dsrs-") as folder:
        path = Path(folder, PROOF_FILE) if proof is None else Path(proof)
        write_whole(path, evidence.text().encode())
        return check_file(path, each, evidence.abstained)


def evidence_of(source: Any) -> Evidence:
    """What a certificate, a run or a file claims, in the form of proof files.

    Args:
        source: a `Certificate`, its JSON as a dictionary, prediction sets, a run, or the path of a
            run folder or of a file of certificates.
    """
    if getattr(source, "kind", None) == "prediction sets":
        return evidence_of_certificates([("1", source.to_dict())], {})
    if isinstance(source, Certificate | Mapping):
        return evidence_of_certificates([("certificate", source)], {})
    if not isinstance(source, str | os.PathLike):
        raise InvalidInput(
            "expected a certificate, a run, or the path of a run folder or a file of certificates, "
            f"got {type(source).__name__}"
        )
    path = Path(source)
    if path.is_dir():
        with open_run(path) as run:
            return evidence_of_run(run)
    return evidence_of_file(path)


def check(source: Any, *, proof: str | os.PathLike[str] | None = None) -> Checked:
    """Prove certificates by the checker, a program of its own that searches for nothing.

    Bounds of probabilities are taken as given, but for those of a run, which are proved from its
    votes.

    Args:
        source: a `Certificate`, its JSON as a dictionary, prediction sets, a run (`CertifiedRun`,
            or its folder), or a file of certificates: JSON, or a table of `dsrs recertify` or
            `dsrs export`.
        proof: where to keep the proof file, which anybody can check again with `dsrs-check`.

    Returns:
        The verdicts. They are true in a condition only if something is claimed and all of it is
        proved; `reason` says why something is not.

    Raises:
        InvalidInput: this is nothing that can be checked.
        DataError, StoreError: the file or folder cannot be read.
    """
    try:
        return check_evidence(evidence_of(source), proof)
    except OSError as error:
        raise DataError(f"{source} cannot be checked: {error}") from None


__all__ = ["Checked", "DsrsError", "Verdict", "check"]
