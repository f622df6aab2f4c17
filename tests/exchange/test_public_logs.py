"""Import of the public logs of the original scripts: what is no log of P is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from dsrs.errors import DsrsError
from dsrs.exchange import ResultRow, import_rows

REFUSALS = ("seconds", "no l2 radii", "truncated law", "rescaled Q")


def attempt(path: Path, q_log: Path | None = None) -> list[ResultRow] | str:
    try:
        return import_rows(path, q_log=q_log)
    except DsrsError as error:
        return str(error)


def test_each_log_is_taken_for_what_it_is(original_logs: Path) -> None:
    reasons: Counter[str] = Counter()
    for path in sorted(original_logs.rglob("*.txt")):
        rows = attempt(path)
        kind = path.relative_to(original_logs).parts[0]
        name = path.name
        if not isinstance(rows, str):
            # Whatever is read is a log of P, in any norm, or of l2 radii.
            norm = {"L1": "l1", "infty": "linf"}.get(name.split("-")[0])
            assert all(row.norm == norm for row in rows)
            reasons["another norm"] += norm is not None
            allowed = ("gaussian-", "general-gaussian-", "orig-rad-g", "new-rad-g", "L1-", "infty-")
            assert name.startswith(allowed)
            assert "-x" not in name or kind == "new-radius"
            reasons[f"{kind} read"] += 1
            assert all((row.radius is None) == (kind == "sampling") for row in rows)
            continue
        for words in REFUSALS:
            if words in rows:
                reasons[words] += 1
                break
        else:
            reasons["other"] += 1
            assert kind in ("landscape_sampling", "theory_simulations") or not path.stat().st_size
    other_norms = sum(
        path.name.startswith(("L1-", "infty-")) for path in original_logs.rglob("*.txt")
    )
    # The other 30 are of a Q: their sigma is not that of the model.
    assert (other_norms, reasons["another norm"]) == (66, 36)
    timed = [path for path in original_logs.rglob("time-*.txt") if path.stat().st_size]
    assert reasons["seconds"] == len(timed) > 150
    assert reasons["truncated law"] > 50
    assert reasons["rescaled Q"] > 20
    assert reasons["sampling read"] > 30
    assert reasons["orig-radius read"] > 60
    assert reasons["new-radius read"] > 80


def test_a_log_of_q_must_belong_to_that_of_p(original_logs: Path, tmp_path: Path) -> None:
    folder = original_logs / "sampling" / "consistency-mnist-380-0.50.pth"
    p_log = folder / "general-gaussian-380-0.5-50000-0.0005.txt"
    q_log = next(folder.glob("general-gaussian-380-0.5-50000-0.0005-x*.txt"))
    rows = attempt(p_log, q_log)
    assert not isinstance(rows, str)
    assert any(row.q_law and row.q_law.startswith("truncated:") for row in rows)
    other = original_logs / "sampling" / "consistency-mnist-380-1.00.pth"
    wrong = next(other.glob("general-gaussian-380-1.0-50000-0.0005-*.txt"))
    assert "is of the model" in str(attempt(p_log, wrong))
    moved = tmp_path / wrong.name
    moved.write_bytes(wrong.read_bytes())
    assert "truncated at sigma = 1" in str(attempt(p_log, moved))
    assert "no log of a Q" in str(attempt(p_log, p_log))
