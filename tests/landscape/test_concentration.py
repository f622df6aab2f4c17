"""The concentration property of inputs that were looked at, and logs on spheres for `dsrs tune`."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dsrs.cli.landscape import landscape_summary
from dsrs.cli.main import main
from dsrs.errors import DataError
from dsrs.exchange.landscape_logs import landscape_of_logs, logs_on_spheres
from dsrs.landscape.concentration import CONCENTRATION_SHARES, concentration


def test_the_property_holds_up_to_the_first_miss() -> None:
    d, sigma = 784, 0.5
    quantiles = sigma * stats.chi(d).ppf(CONCENTRATION_SHARES)
    misses = [0.0, *(0.5 * (quantiles[1:] + quantiles[:-1])), math.inf]
    found = concentration(misses, d, sigma)
    # Of five inputs: one misses everywhere, one beyond each quantile, one nowhere.
    assert found.holds == pytest.approx((4 / 5, 3 / 5, 2 / 5, 1 / 5))
    assert found.radius == pytest.approx(0.02 * 0.5 * 28)


def sphere_log(folder: Path, reach: float) -> Path:
    """Inputs 0 to 3 are right up to norms 5, 10, 20 and everywhere; 100 votes a sphere."""
    folder.mkdir(parents=True)
    path = folder / "0.0-40.0-41-100.txt"
    lines = []
    for index, edge in enumerate((5.0, 10.0, 20.0, math.inf)):
        for norm in np.linspace(0, reach, 41):
            share = 1.0 if norm <= edge else max(0.0, 1 - 0.1 * (norm - edge))
            lines.append(f"o {index} {norm} {round(share, 2)}")
    path.write_text("\n".join(lines))
    return path


def test_logs_on_spheres_are_a_landscape(tmp_path: Path) -> None:
    path = sphere_log(tmp_path / "cohen-mnist-380-1.00.pth", 40.0)
    landscape = landscape_of_logs(logs_on_spheres(path.parent))
    assert (landscape.d, landscape.indices, landscape.votes) == (784, (0, 1, 2, 3), 16_400)
    assert landscape.first_misses == (6.0, 11.0, 21.0, math.inf)
    assert landscape.largest_norm == 40.0
    for profile, half in zip(landscape.profiles, (10.0, 15.0, 25.0), strict=False):
        assert profile(half) == pytest.approx(0.5, abs=0.05)  # the curve through exact shares
    assert landscape.profiles[3](30.0) > 0.99
    summary = landscape_summary(landscape)
    tops = [one["holds"]["0.5"] for one in summary["concentration"]]
    assert tops == sorted(tops, reverse=True)
    assert set(tops) >= {0.75, 0.25}


def test_a_log_on_spheres_without_a_known_data_set_is_refused(tmp_path: Path) -> None:
    path = sphere_log(tmp_path / "mine.pth", 40.0)
    with pytest.raises(DataError, match="must be named after a model"):
        landscape_of_logs([path])


def test_the_commands_read_the_logs_of_the_scripts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = sphere_log(tmp_path / "cohen-mnist-380-1.00.pth", 40.0)
    for place in (path, path.parent):
        assert main(["tune", "--landscape", str(place), "--n", "1000", "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["landscape"]["inputs"] == [0, 1, 2, 3]
    assert main(["import", str(path), "--output", str(tmp_path / "spheres.csv")]) == 0
    assert "accuracy on spheres of 4 inputs" in capsys.readouterr().out
    lines = (tmp_path / "spheres.csv").read_text().splitlines()
    assert lines[:2] == ["index,norm,accuracy,votes", "0,0.0,1.0,100"]
    assert len(lines) == 1 + 4 * 41
    benign = tmp_path / "general-gaussian-380-0.0-100000-0.001.txt"
    benign.write_text("\nx disttype general-gaussian\nx k 380\n\no 0 True\no 10 False\no 20 True\n")
    assert main(["import", str(benign), "--output", str(tmp_path / "benign.csv")]) == 0
    assert "3 rows, 2 of 3 answers right" in capsys.readouterr().out
    assert (tmp_path / "benign.csv").read_text() == "index,right\n0,1\n10,0\n20,1\n"
    benign.write_text("o 0 True\no 1 maybe\n")
    assert main(["import", str(benign), "--output", str(tmp_path / "other.csv")]) == 2
    assert "line 2: expected `o index True|False`" in capsys.readouterr().err
