"""The script and the notebook of docs/python.md run, and show what a person wants to see."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_quickstart_prints_a_table(tmp_path: Path) -> None:
    for extra in ("onnxruntime", "pandas"):
        pytest.importorskip(extra, reason="needs the extras `demo` and `frame`")
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / "quickstart.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("certified") >= 10
    assert "certified accuracy at radius 0.25 and 0.5: [0." in done.stdout
    assert list(tmp_path.iterdir()) == []


def shown(notebook: Any) -> list[tuple[str, dict[str, str]]]:
    """The outputs of a notebook: their kind and what they hold."""
    outputs = (one for cell in notebook.cells for one in cell.get("outputs", ()))
    return [(one.output_type, one.get("data", {})) for one in outputs]


@pytest.mark.filterwarnings("ignore")  # of the kernel's own packages
def test_the_notebook_runs_and_shows_what_it_holds(tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="needs the extra `test`")
    nbformat = pytest.importorskip("nbformat", reason="needs the extra `test`")
    pytest.importorskip("ipykernel", reason="needs the extra `test`")
    kept = nbformat.read(EXAMPLES / "notebook.ipynb", 4)
    fresh = nbformat.read(EXAMPLES / "notebook.ipynb", 4)
    client = nbclient.NotebookClient(
        fresh, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    assert [(kind, sorted(data)) for kind, data in shown(fresh)] == [
        (kind, sorted(data)) for kind, data in shown(kept)
    ]
    bars = [data["text/plain"] for kind, data in shown(fresh) if kind == "display_data"]
    assert "12/12" in bars[0]
    assert any("image/png" in data for _, data in shown(fresh))
    plain = [data["text/plain"] for kind, data in shown(kept) if kind == "execute_result"]
    again = [data["text/plain"] for kind, data in shown(fresh) if kind == "execute_result"]
    assert again[:2] == plain[:2]  # the same seed, the same votes
