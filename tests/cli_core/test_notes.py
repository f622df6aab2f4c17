"""What a command says on the way: one line when it compiles, none when it shall be quiet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dsrs.cli.main import main
from dsrs.duality import kernel


class NeverDone:
    """Stands for the compiling process."""

    returncode = None

    def poll(self) -> None:
        return None


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table that is worth compiling for, in a process that has nothing compiled."""
    state: dict[str, Any] = {"_compiled": {}, "_compiler": None, "_failed": False}
    for name, value in state.items():
        monkeypatch.setattr(kernel, name, value)
    monkeypatch.setenv(kernel.SWITCH, "auto")
    monkeypatch.setattr(kernel, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(kernel, "_start_compiler", NeverDone)
    source = tmp_path / "in.csv"
    abstaining = "784,0,0.5,0.1,0.2\n"
    source.write_text("d,k,sigma,p_lower,p_upper\n" + kernel.WORTH_COMPILING * abstaining)
    return source


@pytest.mark.parametrize(("options", "notes"), [((), 1), (("--quiet",), 0)])
def test_compiling_is_said_once(
    table: Path, options: tuple[str, ...], notes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    target = table.with_name("out.csv")
    assert main(["recertify", str(table), "--output", str(target), *options]) == 0
    assert kernel.mode() == "compiling"
    assert capsys.readouterr().err.count("compiling kernels in another process") == notes
