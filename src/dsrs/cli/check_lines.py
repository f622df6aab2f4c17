"""What `dsrs check` prints for people: a short line for each verdict, and once what they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dsrs.files import one_line
from dsrs.measures import floor_text

if TYPE_CHECKING:
    from dsrs.audit import Verdict

MOST_SHOWN_VERDICTS = 20
MARK = 12  # characters of a fingerprint that people compare; `--json` has all

Facts = dict[str, str]


def verdict_lines(verdicts: Sequence[Verdict]) -> list[str]:
    """A line for each verdict: for the bad ones only where there are many.

    What all certificates are about alike (alpha, n, seed, model) stands in one line behind them.
    """
    from dsrs.audit import VERDICT_WORDS

    facts = [_facts(verdict) for verdict in verdicts]
    known = [told for told in facts if told]
    common = dict(set.intersection(*(set(told.items()) for told in known))) if known else {}
    lines = []
    for word in VERDICT_WORDS:
        alike = [pair for pair in zip(verdicts, facts, strict=True) if pair[0].word == word]
        bad = word in ("refuted", "undecided")
        shown = (
            alike
            if len(verdicts) <= MOST_SHOWN_VERDICTS
            else alike[:MOST_SHOWN_VERDICTS]
            if bad
            else []
        )
        for verdict, about in shown:
            own = {name: text for name, text in about.items() if name not in common}
            lines.append(one_line(_line(verdict, own)))
        if bad and len(alike) > len(shown):
            lines.append(f"... and {len(alike) - len(shown):,} more {word}")
    if common:
        ordered = [text for name, text in known[0].items() if name in common]
        lines.append(one_line(f"in common: {', '.join(ordered)}"))
    return lines


def _line(verdict: Verdict, facts: Mapping[str, str]) -> str:
    """The verdict, the radius it is on, and facts that not all certificates share."""
    parts = [verdict.name]
    if verdict.radius:
        parts.append(f"radius {floor_text(verdict.radius, 6)}")
    line = f"{verdict.word.upper()}: {', '.join([*parts, *facts.values()])}"
    return f"{line}: {verdict.reason}" if verdict.reason else line


def _facts(verdict: Verdict) -> Facts:
    """What the certificate is about, by the names of its subject, without what its name says."""
    subject = {name: value for name, value in (verdict.subject or {}).items() if value is not None}
    titled, public = subject.pop("class_name", None), subject.pop("seed_public", None)
    texts = {name: f"{name} {value}" for name, value in subject.items()}
    if titled is not None and "class" in texts:
        texts["class"] += f" ({titled})"
    if public is not None and "seed" in texts:
        texts["seed"] += " (public)" if public is True else " (drawn)"
    for name in ("model", "input"):
        if name in texts:
            texts[name] = f"{name} {_short(str(subject[name]))}"
    named = verdict.name.split(", ", 1)
    if len(named) == 2 and named[0] == f"input {subject.get('index')}":
        texts.pop("index", None)
        if str(subject.get("method")).startswith(named[1]):
            texts.pop("method", None)
    return texts


def _short(fingerprint: str) -> str:
    """A fingerprint with the first digits of its hash; names are left as they are."""
    kind, colon, digits = fingerprint.rpartition(":")
    is_hash = len(digits) > 2 * MARK and not set(digits) - set("0123456789abcdef")
    return kind + colon + (digits[:MARK] if is_hash else digits)
