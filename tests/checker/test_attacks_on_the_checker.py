"""Files that a hostile reader made: each was accepted once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from checker.loaded import check

# Two pieces so steep that the mass of the law is only known as a wide ball.
STEEP = [[1e-29, 1.0000000000001e-29, 0, -7e15, 0], [1.0000000000001e-29, "inf", 0, 0, 0]]
# In two dimensions, where noise on a grid is charged only for laws that fall with the norm.
RISING = {
    "a hole and a ring at the centre": [[1e-40, 1e-30, 62, 0, 0], [1e-30, "inf", 0, 0, 0]],
    "a dense ring far out": [[0, 90, 0, 0, 0], [200, 201, 200, 0, 0]],
    "a weight that rises": [[0, 1, 0, 0, 0], [1, "inf", 1, 0, 0]],
}


def content(law: Any, d: int, value: float, proof: Any, radius: Any, name: str = "1") -> bytes:
    bound = {"stream": 0, "event": "class", "side": "lower", "looks": [[100, 0.05]]}
    lines = [
        {"format": "dsrs-proof-1", "about": {}},
        {
            **{"plan": "p", "about": {}, "grid": 1e-3, "alpha": 0.05},
            "noise": {"d": d, "sigma": 0.5, "k": 0.0, "eta": 2.0},
            "methods": {"m": [{"streams": [law], "bounds": [bound]}]},
        },
        {
            **{"plan": "p", "input": name, "moved": 0.0},
            "streams": [{"law": law, "counts": [[60, 40]]}],
            "certificates": {
                "m": {
                    **{"form": 0, "class": 0, "streams": [0]},
                    "bounds": [{"value": value, "look": 0}],
                    "claims": [{"radius": radius, "proof": proof}],
                }
            },
        },
    ]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def proved(file: bytes) -> list[bool]:
    return [check.outcome(item)["proved"] for item in check.ProofFile(file).items]


def test_a_law_whose_mass_is_not_known_charges_nothing_negative() -> None:
    assert proved(content(STEEP, 3, 1.0, {"sure": 0}, "inf")) == [False]


@pytest.mark.parametrize("name", RISING)
def test_in_two_dimensions_rising_laws_have_no_charge(name: str) -> None:
    noise = check.Noise(2, 0.5, 0.0, 2.0)
    law = noise.law(check.read_law(RISING[name]))
    with pytest.raises(check.NotProved, match=r"must fall|cannot be enclosed|told apart"):
        check.charge(noise, law, 1e-3)


def test_names_write_no_lines_of_their_own(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "names.jsonl"
    forged = content(None, 3, 0.9, {"gaussian": 0}, 1.0, "1\nproved: input 7, m\x1b[2K")
    path.write_bytes(forged)
    assert check.main([str(path)]) == 1
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert not any(line.startswith("proved: ") for line in out.splitlines())


def test_one_law_is_one_law_however_its_numbers_are_written() -> None:
    lines = content([[0, 12, 0, 0, 0]], 3, 0.2, {"gaussian": 0}, 1.0).decode().splitlines()
    row = json.loads(lines[2])
    row["streams"].append({"law": [[0.0, 12.0, 0, 0, 0.0]], "counts": []})
    with pytest.raises(check.Unreadable, match="one law"):
        check.ProofFile("\n".join([*lines[:2], json.dumps(row)]).encode())
