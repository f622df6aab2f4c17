"""Certificates and tables that say too much, or nothing that can be read: none is proved.

Their bounds are taken as given. For Gaussian noise the largest radius is known in closed form:
sigma Phi^-1(p) from P_A >= p, sigma (Phi^-1(a) - Phi^-1(b)) / 2 for a lead. For other bounds a
classifier that has all the claimed probabilities, and loses its majority within the claimed radius,
shows that a claim is false.
"""

from __future__ import annotations

import copy
import csv
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dsrs
from dsrs import GeneralizedGaussian, Interval, Observation, Rescaled, Truncated, certify
from dsrs.cli.main import main
from dsrs.evidence import evidence_of, evidence_of_certificates, evidence_of_text
from dsrs.proofs import certificate_of, find_lead
from evidence.conftest import Runs
from evidence.small_runs import is_proved, verdict_of, verdicts

Fields = dict[str, Any]
MNIST, PLAIN = GeneralizedGaussian(784, 0.5, 380), GeneralizedGaussian(784, 0.5)
SMALL = GeneralizedGaussian(20, 0.5, 6.0)
TRUE = {
    "P alone": certify(SMALL, Interval(0.93, 0.95)),
    "Gaussian": certify(PLAIN, Interval(0.93, 0.95)),
    "rescaled": certify(
        MNIST, Interval(0.93, 0.95), Observation(Rescaled(MNIST, 0.4), Interval(0.96, 1.0))
    ),
    "leading": certificate_of(SMALL, find_lead(SMALL, 0.5, 0.2)),
}


def fields_of(name: str) -> Fields:
    return dict(json.loads(TRUE[name].to_json()))


def proved(fields: Any) -> bool:
    return is_proved(evidence_of(fields))


# ------------------------------------------------------------------------------------- forgeries


def grown(fields: Fields) -> None:
    for place in (fields, fields["proof"]["steps"][0]):
        place["radius"] *= 1.00001
    del fields["linf_radius"], fields["l1_radius"]


FORGERIES: dict[str, Callable[[Fields], Any]] = {
    "a longer radius": grown,
    "only the radius": lambda f: f.update(radius=math.nextafter(f["radius"], 9.0) * 1.00001),
    "another l-infinity radius": lambda f: f.update(linf_radius=f["linf_radius"] * 1.01),
    "another l1 radius": lambda f: f.update(l1_radius=f["l1_radius"] * 1.01),
    "more noise than there was": lambda f: f["law"].update(sigma=f["law"]["sigma"] * 0.9999),
    "no proof": lambda f: f.update(proof=None),
    "no steps": lambda f: f["proof"].update(steps=[]),
    "a longer radius of P alone": lambda f: f.update(np_radius=f["radius"] * 1.01),
    "an infinite radius": lambda f: f.update(radius="inf", linf_radius="inf", l1_radius="inf"),
    "a format that nobody knows": lambda f: f.update(format=4),
    "a field that nobody knows": lambda f: f.update(hue=3),
    "a status that nobody knows": lambda f: f.update(status="sure"),
    "a kind of proof that nobody knows": lambda f: f["proof"].update(kind="oracle"),
    "a search that was neither complete nor not": lambda f: f.update(complete="yes"),
    "a subject that says something else": lambda f: f.update(subject={"radius": 1000}),
    "a class that is none": lambda f: f.update(subject={"class": -3}),
}  # fmt: skip


@pytest.mark.parametrize("name", TRUE)
def test_forged_certificates_are_not_proved(name: str) -> None:
    assert proved(fields_of(name))
    for what, forge in FORGERIES.items():
        fields = fields_of(name)
        forge(fields)
        assert not proved(fields), what


@pytest.mark.parametrize("name", ["P alone", "rescaled"])
def test_a_dual_bound_is_no_claim(name: str) -> None:
    """Harmless: the checker computes the bound of each step itself, and reads none."""
    fields = fields_of(name)
    fields["proof"]["steps"][0]["dual_bound"] = 0.9
    assert proved(fields)


def test_multipliers_far_from_the_best_prove_nothing() -> None:
    for name in ("P alone", "rescaled", "leading"):
        fields = fields_of(name)
        multipliers = fields["proof"]["steps"][0]["multipliers"]
        place = max(range(len(multipliers)), key=lambda i: abs(multipliers[i]))
        multipliers[place] *= 1.05
        assert not proved(fields), name


def test_another_law_than_the_proofs() -> None:
    for change in ({"kind": "rescaled", "beta": 0.3}, {"kind": "truncated", "percentile": 1.5}):
        fields = fields_of("rescaled")
        fields["proof"]["additional"][0]["law"] = change
        assert not proved(fields), change
    fields["proof"]["additional"][0]["law"] = {"kind": "unheard of"}
    assert "unheard of" in verdict_of(fields).reason


def test_an_infinite_radius_needs_a_class_that_is_never_wrong() -> None:
    fields = dict(certify(PLAIN, Interval(1.0, 1.0)).to_dict())
    assert proved(fields)
    forged = copy.deepcopy(fields)
    forged["proof"]["p"] = [0.9999999, 1.0]
    assert not proved(forged)
    inside = certify(
        PLAIN, Interval(0.9, 0.95), Observation(Truncated(PLAIN, 0.5), Interval(1.0, 1.0))
    ).to_dict()
    for name in ("radius", "linf_radius", "l1_radius"):
        inside[name] = "inf"
    inside["proof"]["steps"][0]["radius"] = "inf"
    assert not proved(inside)


def test_a_lead_needs_both_bounds_and_is_no_majority() -> None:
    fields = fields_of("leading")
    fields["proof"]["rival"] = 0.21
    assert not proved(fields)
    del fields["proof"]["rival"]
    assert "`rival` is missing" in verdict_of(fields).reason
    lead = fields_of("leading")
    proof = lead["proof"]
    for steps in (proof["steps"], proof["steps"][:1], proof["steps"][1:]):
        p = [proof["lower"], 1.0]
        majority = {"kind": "dual", "p": p, "additional": [], "steps": steps}
        assert not proved(lead | {"proof": majority})


def test_bounds_that_no_votes_can_show_are_said_to_be_given() -> None:
    """Harmless: alpha and n of a subject are not proved, and the bounds are called assumptions."""
    fields = fields_of("Gaussian") | {"subject": None}
    (verdict,) = dsrs.check(fields)
    assert verdict
    assert verdict.given == 2  # both ends of the interval


# ------------------------------------------------------------ false by arguments of another kind


def largest(fields: Fields) -> float:
    """The largest radius for Gaussian noise, in closed form; infinite for p = 1."""
    proof, sigma = fields["proof"], fields["law"]["sigma"]
    if proof["kind"] == "dual":
        return float(sigma * stats.norm.ppf(proof["p"][0]))
    return float(sigma * (stats.norm.ppf(proof["lower"]) - stats.norm.ppf(proof["rival"])) / 2)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value inside a JSON value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in entries:
        yield (*path, key)
        if isinstance(entry, (dict, list)):
            yield from places(entry, (*path, key))


def changed(fields: Any, path: tuple[Any, ...], value: Any) -> Any:
    found = copy.deepcopy(fields)
    place = found
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value(place[path[-1]]) if callable(value) else value
    return found


def is_number(fields: Any, path: tuple[Any, ...]) -> bool:
    for key in path:
        fields = fields[key]
    return isinstance(fields, (int, float)) and not isinstance(fields, bool)


@pytest.mark.parametrize(
    "certificate",
    [certify(PLAIN, Interval(0.93, 0.95)), certificate_of(PLAIN, find_lead(PLAIN, 0.5, 0.2))],
    ids=["alone", "lead"],
)
def test_no_number_can_be_changed_to_a_false_claim(certificate: Any) -> None:
    fields = json.loads(certificate.to_json())
    fields = {name: fields[name] for name in fields if name not in ("linf_radius", "l1_radius")}
    numbers = [path for path in places(fields) if is_number(fields, path)]
    forgeries = []
    for factor in (1 + 1e-9, 1 - 1e-9, 1.001, 0.999, 2.0, 0.5, -1.0, 0.0):
        forgeries += [changed(fields, path, lambda x, f=factor: x * f) for path in numbers]
        longer = fields
        for path in numbers:
            if str(path[-1]).endswith("radius"):
                longer = changed(longer, path, lambda x, f=factor: x * f)
        forgeries.append(longer)
    accepted = [forged for forged in forgeries if proved(forged)]
    assert 0 < len(accepted) < len(forgeries)
    for forged in accepted:
        assert forged["radius"] <= largest(forged) * (1 + 1e-12)
        assert (forged["np_radius"] or 0) <= largest(forged) * (1 + 1e-12)


def claim(
    d: int, p: list[float], laws: list[tuple[Fields, list[float]]], radius: float, *prices: float
) -> Fields:
    return {
        "format": 3, "status": "certified", "radius": radius, "np_radius": None, "complete": True,
        "law": {"d": d, "sigma": 0.5, "k": 0.0, "eta": 2.0}, "grid": None,
        "proof": {
            "kind": "dual", "p": p,
            "additional": [{"law": law, "q": q} for law, q in laws],
            "steps": [{"radius": radius, "multipliers": list(prices), "dual_bound": 0.5000001}],
        },
        "subject": None,
    }  # fmt: skip


def test_laws_that_hide_from_quadrature_are_not_proved() -> None:
    """The classifier that never names the class has all of these probabilities."""
    weighted = {
        "kind": "weighted", "knots": [392.0], "log_weights": [0.0],
        "inner": -391.0, "outer": -391.0,
    }  # fmt: skip
    narrow = {"kind": "rescaled", "beta": 0.00015896206562993398}
    half = [0.0, 0.5]
    hidden = claim(784, [0.0, 1.0], [(weighted, half), (narrow, half)], 1000.0, 0.0, -1e-200, -1.8)
    assert not proved(hidden)
    itself = {
        "kind": "weighted", "knots": [10.13], "log_weights": [8909.47], "inner": 0.0, "outer": 0.0,
    }  # fmt: skip
    charged = claim(784, [0.0, 1.0], [(itself, [0.0, 0.0])], 1000.0, 0.0, -4.9e12)
    charged["law"]["k"] = 380.0
    assert not proved(charged)


@pytest.mark.parametrize(
    ("d", "most", "count"),
    [(3072, 2, 4), pytest.param(3072, 2, 20, marks=pytest.mark.slow),
     pytest.param(10**6, 12, 2, marks=pytest.mark.slow)],
)  # fmt: skip
def test_narrow_laws_with_negative_multipliers_buy_nothing(d: int, most: int, count: int) -> None:
    """A half space less a ball around the input, which holds almost none of P and all of the narrow
    laws: P_A = 0.6 - 1e-9 and Q_A = 0 for each of them. It loses its majority at
    sigma Phi^-1(0.6) = 0.1267, and the claim is twice that."""
    generator = np.random.default_rng(5)
    for _ in range(count):
        laws = int(generator.integers(1, most + 1))
        betas = 0.5 * 10.0 ** generator.uniform(-4, -0.3, laws)
        observed = [({"kind": "rescaled", "beta": float(beta)}, [0.0, 0.5]) for beta in betas]
        prices = -(10.0 ** generator.uniform(-8, 2, laws))
        own = float(generator.uniform(0.9, 1.2))
        assert not proved(claim(d, [0.599, 1.0], observed, 0.25, own, *map(float, prices)))


# -------------------------------------------------------------------------------- what is no such

ODD: list[Any] = [
    math.nan, math.inf, -math.inf, -1, 0, 1e308, -1e308, 5e-324, 2**53, 10**400, -(10**400), 2.5,
    True, None, "", "inf", "-inf", "nan", "x", [], {}, [[]], [0.5], [0.9, 0.1], {"kind": "dual"},
]  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "Gaussian" else pytest.mark.slow)
             for name in TRUE],
)  # fmt: skip
def test_odd_values_anywhere_end_in_a_verdict(name: str) -> None:
    """And claim nothing new: whatever is proved has the radius that was proved, or less."""
    true = fields_of(name)
    for path in places(true):
        for value in ODD:
            fields = changed(true, path, value)
            evidence = evidence_of(fields)
            found = verdicts(evidence)
            assert len(found) + evidence.abstained == 1
            if path[0] == "radius" and all(found):
                assert not evidence.subjects or fields["radius"] <= true["radius"]


@pytest.mark.parametrize(
    ("name", "value"), [("radius", "abc"), ("radius", 10**400), ("law", None), ("radius", 5.0)]
)
def test_changed_objects_end_in_a_verdict(name: str, value: Any) -> None:
    certificate = certify(PLAIN, Interval(0.93, 0.95))
    object.__setattr__(certificate, name, value)
    assert not dsrs.check(certificate)


def test_one_bad_certificate_leaves_the_others_proved() -> None:
    true = TRUE["Gaussian"].to_json()
    twice = true[:-1] + ', "radius": 0.1}'
    lines = [
        "{", "[" * 100_000, "3", "null", '{"law": NaN}', "9" * 5000, twice,
        true.replace('"sigma": 0.5', '"sigma": Infinity'), true,
    ]  # fmt: skip
    found = verdicts(evidence_of_text("\n".join(lines), {}))
    assert [bool(verdict) for verdict in found] == [False] * (len(lines) - 1) + [True]
    assert "comes twice" in found[6].reason


def test_names_of_certificates_lose_none_of_them() -> None:
    """Every one that is given is proved, not proved, or counted as claiming nothing."""
    given: list[tuple[str, Any]] = [
        ("a", TRUE["Gaussian"]),
        ("b", TRUE["Gaussian"]),
        ("c", certify(PLAIN, Interval(0, 1))),
    ]
    given += [("d", {"no": "certificate"}), ("e", 5)]
    evidence = evidence_of_certificates(given, {})
    found = verdicts(evidence)
    assert (len(found), evidence.abstained) == (4, 1)
    assert [bool(each) for each in sorted(found, key=lambda each: each.name)].count(True) == 2


# ------------------------------------------------------------------------------------------ rows


def claims_of(table: Path) -> list[Fields]:
    """The rows of a table that claim a radius."""
    with table.open() as file:
        rows = list(csv.DictReader(file))
    return [row for row in rows if float(row.get("certified_radius") or row["radius"])]


def row_is(row: Fields, **cells: Any) -> str:
    evidence = evidence_of_certificates([("row", row | cells)], {})
    if evidence.abstained:
        return "nothing"
    return "proved" if is_proved(evidence) else "not proved"


@pytest.fixture(scope="module")
def recertified(tmp_path_factory: pytest.TempPathFactory) -> list[Fields]:
    folder = tmp_path_factory.mktemp("tables")
    (folder / "given.csv").write_text(
        "index,d,k,sigma,p_lower,p_upper,q_law,q_lower,q_upper,n,alpha\n"
        "0,784,0,0.5,0.93,0.95,,,,1000,0.001\n"
        "1,784,380,0.5,0.97,0.98,rescaled:0.8x,0.95,0.96,1000,0.001\n"
    )
    words = ["recertify", str(folder / "given.csv"), "--output", str(folder / "out.csv")]
    assert main([*words, "--quiet"]) == 0
    return claims_of(folder / "out.csv")


@pytest.mark.parametrize("place", [0, 1])
def test_columns_are_those_of_the_proof(recertified: list[Fields], place: int) -> None:
    row = recertified[place]
    assert row_is(row) == "proved"
    for cells in (
        {"dual_bound": "0.75"}, {"lambda_p": "1.5"}, {"lambda_p": "{}"}, {"lambda_q": "0.1"},
        {"p_lower": "0.99"}, {"p_upper": "0.9"}, {"certified_radius": "9"}, {"proof": ""},
        {"np_radius": "9"}, {"k": "1"}, {"sigma": "0.4"}, {"eta": "0"}, {"d": "0"},
        {"p_lower": "0"}, {"grid": "0", "moved": "0.3"}, {"moved": "0.3"}, {"proof": "5"},
    ):  # fmt: skip
        if place == 0 and "lambda_q" in cells:
            continue  # there is no other law
        assert row_is(row, **cells) == "not proved", cells


def test_a_false_radius_beside_a_certified_one_is_not_proved(recertified: list[Fields]) -> None:
    """`recertify` keeps the columns that it was given; only its own radius has a proof."""
    row = recertified[0]
    certified = float(row["certified_radius"])
    for radius, said in ((certified, "proved"), (0.5 * certified, "proved"),
                         (certified + 1e-6, "not proved"), (9.0, "not proved")):  # fmt: skip
        assert row_is(row, radius=repr(radius)) == said, radius
    for name in ("linf_radius", "l1_radius"):
        assert row_is(row, **{name: "9.0"}) == "not proved"


def test_a_row_that_was_not_certified_claims_nothing(recertified: list[Fields]) -> None:
    empty = dict.fromkeys(("np_radius", "certified_radius", "proof"), "")
    row = {**recertified[0], **empty, "status": "error: no such law"}
    assert row_is(row) == "nothing"
    for name in empty:
        assert row_is(row, **{name: recertified[0][name]}) == "not proved", name
    # Radii that were given to `recertify` are not what is certified.
    assert row_is(row, radius="7.5", linf_radius="7.5") == "nothing"
    del row["certified_radius"]
    for name in ("radius", "linf_radius", "l1_radius"):
        assert row_is(row, **{name: "7.5"}) == "not proved"


@pytest.mark.parametrize("name", ["sigma", "certified_radius", "d", "p_lower"])
@pytest.mark.parametrize("text", ["1_0", "\u0663", "0_1"])
def test_numbers_that_only_python_reads(recertified: list[Fields], name: str, text: str) -> None:
    assert row_is(recertified[0], **{name: text}) == "not proved"


@pytest.mark.parametrize("additional", [5, [5], [[]], "x", [None], [{"q": 5}]], ids=str)
def test_proofs_in_cells_that_are_no_proofs(recertified: list[Fields], additional: Any) -> None:
    row = recertified[1]
    proof = json.loads(row["proof"]) | {"additional": additional}
    for p in (proof["p"], 5, "x"):
        assert row_is(row, proof=json.dumps(proof | {"p": p})) == "not proved"


def test_cells_of_an_exported_row_that_contradict_its_proof(runs: Runs, tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    assert main(["export", str(runs("grid")), "--output", str(table)]) == 0
    row = next(row for row in claims_of(table) if row["method"] == "np")
    assert row_is(row) == "proved"
    for cells in (
        {"p_lower": "0.0"}, {"eta": "0"}, {"grid": "0.0", "moved": "0.3"}, {"rival": "0.1"},
        {"grid": "", "moved": "0.3"}, {"q_lower": "0.99", "q_upper": "1.0"}, {"radius": "9"},
        {"linf_radius": "5.0"}, {"l1_radius": "5.0"}, {"certified_radius": "9.0"},
    ):  # fmt: skip
        assert row_is(row, **cells) == "not proved", cells
    # Harmless: votes and alpha stand beside the row, and its bounds are called assumptions.
    assert row_is(row, n="3", alpha="1e-90") == "proved"
