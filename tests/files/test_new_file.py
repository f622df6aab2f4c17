"""Nothing is overwritten unasked, nothing of another kind ever, and it is said before the work."""

from __future__ import annotations

from pathlib import Path

import pytest

from dsrs.cli.main import main
from dsrs.errors import InvalidInput
from dsrs.files import check_figure, check_new_file


def test_what_would_be_lost_is_refused(tmp_path: Path) -> None:
    check_new_file(tmp_path / "new" / "table.txt", overwrite=False)
    table = tmp_path / "table.txt"
    table.write_text("numbers")
    with pytest.raises(InvalidInput, match="give --overwrite"):
        check_new_file(table, overwrite=False)
    check_new_file(table, overwrite=True)
    table.write_bytes(b"SQLite format 3\0")
    with pytest.raises(InvalidInput, match="another kind"):
        check_new_file(table, overwrite=True)
    with pytest.raises(InvalidInput, match="is not a folder"):
        check_new_file(table / "inner.txt", overwrite=False)
    with pytest.raises(InvalidInput, match="is a folder"):
        check_new_file(tmp_path, overwrite=True)


def test_a_figure_says_its_format_and_replaces_only_figures(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"must end in \.png, \.pdf, \.svg, got"):
        check_figure(tmp_path / "x.bmp", overwrite=False)
    notes = tmp_path / "x.png"
    notes.write_text("my notes")
    with pytest.raises(InvalidInput, match="another kind"):
        check_figure(notes, overwrite=True)
    notes.write_bytes(b"\x89PNG and so on")
    check_figure(notes, overwrite=True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tune", "--landscape", ".", "--n", "9", "--figure", "x.bmp"], "must end in .png"),
        (["tune", "--landscape", ".", "--n", "9", "--figure", "old.png"], "old.png exists"),
    ],
)
def test_commands_refuse_before_they_work(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.png").write_bytes(b"\x89PNG")
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert out == ""
    assert Path("old.png").read_bytes() == b"\x89PNG"
