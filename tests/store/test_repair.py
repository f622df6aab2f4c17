"""`dsrs repair`: one damaged input does not cost the others."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from dsrs.cli.main import main
from dsrs.errors import DsrsError, StoreCorrupted
from dsrs.store import open_run
from dsrs.store.repair import repair_run
from dsrs.store.schema import STORE_NAME

INDICES = [0, 11, 22, 33, 44, 55, 66, 77, 88]


def change(run_folder: Path, statement: str) -> None:
    connection = sqlite3.connect(run_folder / STORE_NAME)
    with connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE input SET label = 7 WHERE idx = 33",
        "UPDATE votes SET body = body || ' ' WHERE idx = 33 AND position = 0",
        "UPDATE certificate SET radius = radius + 1 WHERE idx = 33 AND position = 2",
        "UPDATE votes SET body = 'no json' WHERE idx = 33",
        "DELETE FROM certificate WHERE idx = 33",
        "DELETE FROM input WHERE idx = 33",
    ],
)
def test_one_bad_input_is_dropped_and_named(
    run_folder: Path, statement: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_run(run_folder) as run:
        before = {result.index: result for result in run.results()}
    change(run_folder, statement)
    damaged = (run_folder / STORE_NAME).read_bytes()
    (run_folder / "run.toml").write_bytes(b"sigma = 0.5\n# \xff\n")
    assert main(["repair", str(run_folder)]) == 1
    assert (run_folder.with_name("run-repaired") / "run.toml").read_text().startswith("sigma")
    out = capsys.readouterr().out
    assert "dropped input 33: " in out
    assert "8 inputs kept, 1 dropped" in out
    with open_run(run_folder.with_name("run-repaired")) as run:
        assert {result.index: result for result in run.results()} == {
            index: result for index, result in before.items() if index != 33
        }
    assert (run_folder / STORE_NAME).read_bytes() == damaged


def test_a_sound_run_is_copied_whole(run_folder: Path, tmp_path: Path) -> None:
    assert main(["repair", str(run_folder), "--output", str(tmp_path / "copy")]) == 0
    with open_run(run_folder) as run, open_run(tmp_path / "copy") as copy:
        assert list(copy.results()) == list(run.results())
        assert copy.config == run.config
    assert main(["repair", str(run_folder), "--output", str(tmp_path / "copy")]) == 2


def test_without_its_config_a_run_cannot_be_saved(run_folder: Path, tmp_path: Path) -> None:
    change(run_folder, "UPDATE run SET config = replace(config, '0.5', '0.6')")
    with pytest.raises(StoreCorrupted, match="config"):
        repair_run(run_folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_no_damage_to_the_file_lets_a_wrong_input_through(run_folder: Path, tmp_path: Path) -> None:
    with open_run(run_folder) as run:
        before = {result.index: result for result in run.results()}
    whole = (run_folder / STORE_NAME).read_bytes()
    generator = random.Random(5)
    most = 0
    for attempt in range(40):
        damaged = bytearray(whole)
        place = generator.randrange(4096, len(whole) - 64)
        damaged[place : place + 64] = generator.randbytes(64)
        (run_folder / STORE_NAME).write_bytes(damaged)
        output = tmp_path / f"out{attempt}"
        try:
            done = repair_run(run_folder, output)
        except DsrsError:
            assert not output.exists()
            continue
        most = max(most, len(done.kept))
        with open_run(output) as run:
            kept = {result.index: result for result in run.results()}
        assert sorted(kept) == done.kept
        assert all(before[index] == result for index, result in kept.items())
        assert set(done.kept).isdisjoint(done.dropped)
        assert len(kept) == 9 or done.dropped or done.may_lack_more
    assert most >= 8
