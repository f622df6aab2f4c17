"""`dsrs certify` in a folder with small data."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_certify.small_run import Certify, certify_arguments, make_data
from dsrs.cli.main import main


@pytest.fixture
def certify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Certify:
    """Runs `dsrs certify` with further arguments in a folder with data.npz."""
    monkeypatch.chdir(tmp_path)
    make_data(tmp_path / "data.npz")

    def run(*arguments: str, output: str = "run") -> int:
        own = certify_arguments(output)
        if "--model" in arguments:  # a second model would make an ensemble
            place = own.index("--model")
            del own[place : place + 2]
        return main([*own, *arguments])

    return run
