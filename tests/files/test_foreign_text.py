"""Names from outside are shown, and do nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsrs.cli.main import main
from dsrs.files import csv_cell, markdown_name, one_line, printable, text_of_cell


@given(st.text())
def test_shown_names_hold_nothing_active(text: str) -> None:
    for shown in (one_line(text), csv_cell(one_line(text)), markdown_name(text)):
        assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in shown)
        shown.encode("utf-8")
    assert not csv_cell(text).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert text_of_cell(csv_cell(text)) == text
    assert "<" not in markdown_name(text)


def test_ordinary_names_stay_as_they_are() -> None:
    for name in ("runs/mine-0.5", "Überraschung 3", "a (b), c; d"):
        assert printable(name) == one_line(name) == csv_cell(name) == markdown_name(name) == name
    assert printable("one\ttwo\nthree") == "one\ttwo\nthree"
    assert markdown_name("<b>|`x`_") == "&lt;b&gt;\\|\\`x\\`_"
    assert csv_cell("=cmd|' /C calc'!A0") == "'=cmd|' /C calc'!A0"
    assert text_of_cell("'twas") == csv_cell("'twas") == "'twas"


def test_the_commands_print_no_control_characters_of_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "evil\x1b]0;owned\x07\u202e.csv"
    assert main(["show", str(tmp_path / name)]) == 2
    table = tmp_path / name
    table.write_text("index,d,k,sigma,p_lower,p_upper\n0,784,0,0.5,0.1,0.2\n")
    out = str(tmp_path / f"o{name}")
    assert main(["recertify", str(table), "--output", out, "--quiet"]) == 0
    captured = capsys.readouterr()
    for text in (captured.out, captured.err):
        assert "\\x1b]0;owned\\x07" in text
        assert not any(mark in text for mark in "\x1b\x07\u202e")
