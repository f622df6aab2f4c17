"""What the names of the DSRS scripts' logs say: the law, the budget, and how Q was chosen.

    LAW-K-SIGMA-N-ALPHA[-RULE].txt                     intervals under P, or under Q
    orig-rad-LAW-K-SIGMA-N-ALPHA.txt                   Neyman-Pearson radii
    new-rad-LAW[-th]-K-SIGMA-Q-N-ALPHA.txt             double-sampling radii; -th: Q is truncated

LAW is `gaussian`, whose K is `None`, or `general-gaussian`; with `L1-` or `infty-` before it the
noise is round in that norm (intervals only). `time-...` files hold seconds. RULE is there for a
truncated law: its percentile, or a word for a percentile chosen per input; a rescaled law is known
by its other SIGMA. Files lie in a folder a model, whose name may end with the sigma that the model
was trained for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dsrs.errors import DataError
from dsrs.exchange.row import parsed
from dsrs.laws import heuristic_percentile
from dsrs.laws.norms import Norm

# Recorded names of the percentile by `dsrs.laws.heuristic_percentile`. With the second one the
# scripts sampled P again where (nearly) all votes under P agreed: see `fallback`.
HEURISTIC_RULE = "x"
FALLBACK_RULE = "x+"
LOWERED_RULES = ("x2", "x2+")  # P- minus 0.1, and at least 0.4; the second with the fall-back
PAPER_RULE = "xp"  # the heuristic as the paper's text states it; no recorded log has it
LOG_NUMBER = r"\d+(?:\.\d+)?(?:e[-+]?\d+)?"
LOG_RULE = rf"{LOG_NUMBER}|x|x\+|x2|x2\+|xp"
MODEL_ENDING = ".pth"
LOG_LAWS = ("gaussian", "general-gaussian")
# What stands before the law of noise that is round in another norm, in logs of intervals.
NORM_PREFIXES: dict[Norm, str] = {"l2": "", "l1": "L1-", "linf": "infty-"}
# The dimension of the data set in a model's name, as in cohen-cifar-1530-0.50.
LOG_DIMENSIONS = {
    "mnist": 784,
    "cifar": 3072,
    "cifar10": 3072,
    "tinyimagenet": 12_288,
    "imagenet": 150_528,
}
_LAW = rf"(?P<disttype>{'|'.join(LOG_LAWS)})"
_NOISE = rf"(?P<k>None|{LOG_NUMBER})-(?P<std>{LOG_NUMBER})"
_BUDGET = rf"(?P<N>\d+)-(?P<alpha>{LOG_NUMBER})"
_ANY_LAW = rf"(?P<disttype>(?:{'|'.join(NORM_PREFIXES.values())})(?:{'|'.join(LOG_LAWS)}))"
_STEM = re.compile(rf"{_ANY_LAW}-{_NOISE}-{_BUDGET}(?:-(?P<rule>{LOG_RULE}))?")
_RADIUS_STEM = re.compile(
    rf"(?P<kind>orig-rad|new-rad)-{_LAW}(?P<th>-th)?-{_NOISE}(?:-(?P<rule>{LOG_RULE}))?-{_BUDGET}"
)
_MODEL_SIGMA = re.compile(r".*-(\d+\.\d+)(?:-orig)?(?:\.pth)?")


@dataclass(frozen=True, slots=True)
class LogHeader:
    """What one sampling log says of itself; `rule` is in its file name only."""

    k: float
    sigma: float
    n: int
    alpha: float
    rule: str | None = None
    norm: Norm = "l2"

    @property
    def law(self) -> str:
        return NORM_PREFIXES[self.norm] + ("general-gaussian" if self.k else "gaussian")

    @property
    def k_text(self) -> str:
        if not self.k:
            return "None"
        return str(int(self.k)) if self.k.is_integer() else repr(self.k)

    @property
    def stem(self) -> str:
        """The name of the log's file, without `.txt`."""
        name = f"{self.law}-{self.k_text}-{self.sigma!r}-{self.n}-{self.alpha!r}"
        return name if self.rule is None else f"{name}-{self.rule}"


@dataclass(frozen=True, slots=True)
class RadiusName:
    """What the name of a radius log says: its P, with votes and alpha of one interval, and its Q.

    `rule` is None for P alone, the rule of a truncated Q, or the sigma of a rescaled one.
    """

    p: LogHeader
    rule: str | None
    truncated: bool

    @property
    def stem(self) -> str:
        """The name of the log's file, without `.txt`."""
        p = self.p
        if self.rule is None:
            return f"orig-rad-{p.stem}"
        law = f"{p.law}-th" if self.truncated else p.law
        return f"new-rad-{law}-{p.k_text}-{p.sigma!r}-{self.rule}-{p.n}-{p.alpha!r}"


def sampling_name(path: Path) -> LogHeader:
    """The header that a sampling log's file name tells, RULE included."""
    match = _STEM.fullmatch(_stem(path))
    if not match:
        raise DataError(
            f"expected a name LAW-K-SIGMA-N-ALPHA[-RULE].txt with the law {' or '.join(LOG_LAWS)}, "
            f"such as general-gaussian-380-0.5-50000-0.0005.txt, got {path.name!r}; the name alone "
            "tells which law was sampled"
        )
    return header_of(match.groupdict(), match["rule"], f"the name {path.name}")


def radius_name(path: Path) -> RadiusName:
    """What the name of an `orig-rad-` or `new-rad-` file tells."""
    match = _RADIUS_STEM.fullmatch(_stem(path))
    if match is None or (match["kind"] == "new-rad") != (match["rule"] is not None):
        what = "seconds" if path.name.startswith("time-") else "no l2 radii of a known law"
        raise DataError(
            f"{path} holds {what} by its name; expected orig-rad-LAW-K-SIGMA-N-ALPHA.txt or "
            f"new-rad-LAW[-th]-K-SIGMA-Q-N-ALPHA.txt with the law {' or '.join(LOG_LAWS)}"
        )
    p = header_of(match.groupdict(), None, str(path))
    return RadiusName(p, match["rule"], match["th"] is not None)


def header_of(keys: Mapping[str, str | None], rule: str | None, where: str) -> LogHeader:
    """The header of these texts: disttype, k, std, N, alpha."""
    law, k, std, n, alpha = (keys[key] or "" for key in ("disttype", "k", "std", "N", "alpha"))
    # Some names give a Gaussian an exponent, which it does not have.
    named = (norm for norm, word in NORM_PREFIXES.items() if word and law.startswith(word))
    norm: Norm = next(named, "l2")
    plain = law.removeprefix(NORM_PREFIXES[norm]) == "gaussian" or k == "None"
    header = LogHeader(
        k=0.0 if plain else parsed(k, float, "k", where),
        sigma=parsed(std, float, "std", where),
        n=parsed(n, int, "N", where),
        alpha=parsed(alpha, float, "alpha", where),
        rule=rule,
        norm=norm,
    )
    if not (math.isfinite(header.k) and 0 < header.sigma < math.inf and header.k >= 0):
        raise DataError(
            f"{where}: expected sigma > 0 and k >= 0, got {header.sigma:g}, {header.k:g}"
        )
    if header.n < 1 or not 0 < header.alpha < 1:
        raise DataError(
            f"{where}: expected N >= 1 and alpha in (0, 1), got {header.n}, {header.alpha:g}"
        )
    return header


def recorded_percentile(rule: str, p_lower: float) -> float:
    """The share of P inside the truncation that a rule chose."""
    if rule in (HEURISTIC_RULE, FALLBACK_RULE):
        return heuristic_percentile(p_lower, "recorded")
    if rule == PAPER_RULE:
        return heuristic_percentile(p_lower, "paper")
    if rule in LOWERED_RULES:
        return max(p_lower - 0.1, 0.4) if p_lower >= 0.5 else 0.4
    return float(rule)


def model_sigma(model: str) -> float | None:
    """The sigma that a model of this (folder) name was trained for, where it says one."""
    match = _MODEL_SIGMA.fullmatch(model)
    return float(match[1]) if match else None


def model_dimension(model: str, given: Mapping[str, int]) -> int | None:
    """The dimension of the data set in a model's (folder) name; `given` are those of other words.

    None where no word between dashes is known.
    """
    words = model.removesuffix(MODEL_ENDING).split("-")
    known = {**LOG_DIMENSIONS, **given}
    return next((known[word] for word in words if word in known), None)


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".txt")
