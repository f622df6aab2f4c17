"""Names of laws for narrow columns."""

from __future__ import annotations

import pytest

from dsrs.laws import short_law_text

LONG = "weighted:" + ",".join(f"{t}:{-0.1 * t!r}" for t in range(1, 30))


@pytest.mark.parametrize("text", ["np", "tailored", "rescaled:0.8x", "truncated:paper-heuristic"])
def test_short_texts_stay(text: str) -> None:
    assert short_law_text(text) == text


def test_digits_are_cut() -> None:
    assert short_law_text("truncated:0.8846052811230103") == "truncated:0.884605"


def test_a_law_of_many_numbers_is_told_from_another() -> None:
    other = LONG.replace("29:", "30:")
    assert len({short_law_text(LONG), short_law_text(other)}) == 2
    assert short_law_text(LONG).startswith("weighted #")
    assert short_law_text(LONG).endswith(" (29 points)")
    assert len(short_law_text(LONG)) < 32
