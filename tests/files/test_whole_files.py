"""Files appear whole or not at all, and writing one touches no other."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from dsrs.errors import DataError
from dsrs.files import UNFINISHED, whole_file, write_whole


def test_a_file_is_written_with_the_users_permissions(tmp_path: Path) -> None:
    path = tmp_path / "new" / "table.csv"
    write_whole(path, b"one\n")
    assert path.read_bytes() == b"one\n"
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask
    assert [file.name for file in path.parent.iterdir()] == ["table.csv"]


def test_a_users_own_draft_is_left_alone(tmp_path: Path) -> None:
    for ending in (".draft", ".part", ".partial", UNFINISHED):
        (tmp_path / f"y.csv{ending}").write_text("mine")
    write_whole(tmp_path / "y.csv", b"ours")
    assert sorted(file.read_text() for file in tmp_path.iterdir()) == ["mine"] * 4 + ["ours"]


def test_what_a_link_points_to_is_left_alone(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("keep")
    link = tmp_path / "table.csv"
    link.symlink_to(precious)
    write_whole(link, b"new")
    assert precious.read_text() == "keep"
    assert not link.is_symlink()
    assert link.read_bytes() == b"new"


@pytest.mark.parametrize(
    "failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), ValueError()]
)
def test_a_failure_leaves_the_old_file_and_no_draft(tmp_path: Path, failure: BaseException) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    expected = DataError if isinstance(failure, OSError) else type(failure)

    def write_half() -> None:
        with whole_file(path) as stream:
            stream.write(b"half")
            raise failure

    with pytest.raises(expected):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "below", tmp_path / ("x" * 300)):
        with pytest.raises(DataError, match="cannot be written"):
            write_whole(path, b"")
