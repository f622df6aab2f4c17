"""What to sample and how to spend alpha: everything that decides the votes, in one record."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from dsrs.errors import AlphaOverspent, DataError, InvalidInput
from dsrs.laws import (
    DEFAULT_GRID,
    GeneralizedGaussian,
    Grid,
    names_a_law,
    shown,
    smoothing_law_from_dict,
)
from dsrs.methods import defaults
from dsrs.noise import check_seed
from dsrs.proofs import Subject
from dsrs.votes import SampledInput

# Counters of the noise generator are 32 bits wide.
MAX_VOTES = 2**32 - 2**16
MAX_BATCH = 1024
MOST_VARIATION = 1e-3  # charged to every bound; the default grid charges some 1e-9 to 1e-5
ADAPTIVE_BATCH = 64  # looks fall on whole batches, and the first may be the last


@dataclass(frozen=True, slots=True)
class Goal:
    """What is asked: one radius, a table of radii, or a radius to a relative precision."""

    radius: float | None = None
    radii: tuple[float, ...] = ()
    precision: float | None = None

    def __post_init__(self) -> None:
        asked = (self.radius is not None) + bool(self.radii) + (self.precision is not None)
        if asked > 1:
            raise InvalidInput("choose one of `radius`, `radii` and `precision`")
        for name, value in (("radius", self.radius), ("precision", self.precision)):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InvalidInput(f"`{name}` must be a positive number, got {value!r}")
        if any(not (math.isfinite(r) and r > 0) for r in self.radii):
            raise InvalidInput(f"`radii` must be positive numbers, got {self.radii!r}")

    @property
    def is_open(self) -> bool:
        """Return whether the goal is the largest radius that all votes prove."""
        return self.radius is None and not self.radii and self.precision is None

    @property
    def asked(self) -> tuple[float, ...] | None:
        """Return the radii of the table to decide, if there is one."""
        return (self.radius,) if self.radius is not None else self.radii or None

    def next_radius(self, proved: float) -> float | None:
        """Return the next radius above `proved` that the goal asks for; None if there is none."""
        if self.radius is not None:
            return self.radius if proved < self.radius else None
        if self.precision is not None:
            return proved * (1 + self.precision)
        return min((radius for radius in self.radii if radius > proved), default=None)


@dataclass(frozen=True, slots=True)
class Plan:
    """The smoothing law, the budget of one input, and the methods to certify it with.

    With the same plan, classifier and input, the votes are the same: on any number of workers, in
    any order of inputs, stopped in between or not.

    Attributes:
        law: the smoothing law P.
        methods: `np` (Neyman-Pearson), `tailored` (a law Q chosen for each input), and laws Q of
            double sampling: `truncated:heuristic`, `truncated:paper-heuristic`, `truncated:0.6`
            (share of P's mass), `truncated:T=12.5`, `rescaled:0.4` (beta), `rescaled:0.8x` (beta =
            0.8 sigma), `weighted:...` (see `laws.Weighted`).
        n: votes of each method. Neyman-Pearson has all under P; double sampling `n_first` under P
            (shared by all methods) and `n_second` under its Q.
        n0: votes that choose the class to certify where there is no label.
        alpha: failure probability of each certificate.
        family_alpha: the probability with which any of `family_size` certificates may be wrong,
            where alpha is the part of each; `for_all_of` sets the three.
        family_size: how many certificates share `family_alpha`.
        seed: keys all noise: with the same seed the votes are the same.
        seed_public: whether the seed was, or may have been, known before the inputs were fixed:
            True for a seed that was given, False for one that was drawn for the run
            (docs/security.md).
        sample_share: share of n that a double-sampling method spends under P.
        alpha_share: share of alpha that a double-sampling method spends on P's interval.
        fallback: when all `n_first` votes are right, a double-sampling method goes on under P
            instead of Q (see `methods.staged_lower` for its alpha).
        early_stop: stop on inputs that cannot be certified any more; they are abstained on.
        target: certify the `label` where there is one, or always the `predicted` class.
        batch: rows of every forward pass, always full: a model's floating-point results may depend
            on it, so it belongs to the plan and not to the machine. 0: chosen from d.
        radius: stop at the first look, of those fixed before the votes, at which it is known
            whether this radius is certified. Of `radius`, `radii` and `precision` at most one is
            given; n is then the most votes.
        radii: stop when it is known between which of these radii the certified radius lies.
        precision: stop when the radius is known to this relative precision.
        classes: `top` certifies a majority; `all` may compare the class with every other one.
        looks: how looks at the votes grow on the way, and what part of alpha the last one keeps.
        grid: what inputs and noise are rounded to, so that certificates hold in floating point. The
            default is chosen when the bounds of the data are known (`on_grid_of`); None adds noise
            in float32.
    """

    law: GeneralizedGaussian
    methods: tuple[str, ...] = defaults.DEFAULT_METHODS
    n: int = defaults.N
    n0: int = defaults.N0
    alpha: float = defaults.ALPHA
    family_alpha: float | None = None
    family_size: int | None = None
    seed: int = defaults.SEED
    seed_public: bool = True
    sample_share: float = defaults.SAMPLE_SHARE
    alpha_share: float = defaults.ALPHA_SHARE
    fallback: bool = False
    early_stop: bool = False
    target: defaults.Target = defaults.TARGETS[0]
    batch: int = 0
    radius: float | None = None
    radii: tuple[float, ...] = ()
    precision: float | None = None
    classes: defaults.Classes = defaults.CLASSES[0]
    looks: tuple[float, float] = defaults.LOOK_RULE
    grid: Grid | Literal["default"] | None = DEFAULT_GRID

    def __post_init__(self) -> None:
        if self.grid != DEFAULT_GRID and not isinstance(self.grid, Grid | None):
            raise InvalidInput(f"`grid` must be a Grid or None, got {shown(self.grid)}")
        if isinstance(self.grid, Grid):
            strays = self.grid.variation(self.law)
            if strays > MOST_VARIATION:
                raise InvalidInput(
                    f"`grid` must have a larger step than {self.grid.step:g}: noise in double "
                    "precision would be told from the law's own with a probability of "
                    f"{strays:.1g} a vote"
                )
        for name, least in (("n", 1), ("n0", 1), ("batch", 0)):
            _whole(name, getattr(self, name), least)
        check_seed(self.seed)
        if max(self.n, self.n0) > MAX_VOTES:
            raise InvalidInput(f"`n` and `n0` must not exceed {MAX_VOTES}, got {self.n}, {self.n0}")
        for name in ("alpha", "sample_share", "alpha_share"):
            _probability(name, getattr(self, name))
        self._check_family()
        for name, allowed in (
            ("target", defaults.TARGETS),
            ("classes", defaults.CLASSES),
        ):
            if getattr(self, name) not in allowed:
                raise InvalidInput(
                    f"`{name}` must be {' or '.join(allowed)}, got {shown(getattr(self, name))}"
                )
        growth, share = self.looks
        if not (1 < growth < math.inf and 0 < share < 1):
            raise InvalidInput(
                "`looks` must be a growth above 1 and a share of alpha in (0, 1), got "
                f"{shown(self.looks)}"
            )
        object.__setattr__(self, "looks", (growth, share))
        object.__setattr__(self, "radii", tuple(sorted(self.radii)))
        adaptive = not self.goal.is_open
        if not self.batch:
            batch = default_batch(self.law.d)
            object.__setattr__(self, "batch", min(batch, ADAPTIVE_BATCH) if adaptive else batch)
        if self.batch.bit_count() != 1 or self.batch > MAX_BATCH:
            raise InvalidInput(
                f"`batch` must be a power of two up to {MAX_BATCH}, got {self.batch}"
            )
        object.__setattr__(self, "methods", tuple(self.methods))
        if len(set(self.methods)) < len(self.methods):
            raise InvalidInput(f"`methods` names one twice: {', '.join(self.methods)}")
        if not self.methods:
            raise InvalidInput("`methods` must name at least one method, such as np")

    def _check_family(self) -> None:
        if self.family_alpha is None and self.family_size is None:
            return
        if self.family_alpha is None or self.family_size is None:
            raise InvalidInput("`family_alpha` and `family_size` belong together, got one of them")
        _probability("family_alpha", self.family_alpha)
        _whole("family_size", self.family_size, 1)
        if Fraction(self.alpha) * self.family_size > Fraction(self.family_alpha):
            raise AlphaOverspent(
                f"`alpha` = {self.alpha:g} for each of {self.family_size} certificates is more "
                f"than `family_alpha` = {self.family_alpha:g} for all; use `for_all_of`"
            )

    @property
    def goal(self) -> Goal:
        """Return the goal of the plan: when a method may stop."""
        return Goal(self.radius, self.radii, self.precision)

    @property
    def laws(self) -> tuple[str, ...]:
        """The methods that are laws of double sampling."""
        return tuple(filter(names_a_law, self.methods))

    @property
    def n_first(self) -> int:
        """Votes under P that a double-sampling method uses."""
        return round(self.n * self.sample_share)

    @property
    def n_second(self) -> int:
        """Votes under Q that a double-sampling method uses."""
        return self.n - self.n_first

    def for_all_of(self, inputs: int, family_alpha: float) -> Plan:
        """Return the plan whose certificates are all right, except with a given probability.

        Each certificate of each method has alpha = family_alpha / N, where N is the number of
        `inputs` times that of methods: the chance that any of N is false is at most N alpha. The
        inputs must be fixed before the votes; that they share noise does not matter.

        Args:
            inputs: how many inputs are certified.
            family_alpha: the probability with which any of their certificates may be wrong.
        """
        _whole("inputs", inputs, 1)
        _probability("family_alpha", family_alpha)
        size = inputs * len(self.methods)
        alpha = family_alpha / size
        while Fraction(alpha) * size > Fraction(family_alpha):
            alpha = math.nextafter(alpha, 0.0)
        return self.replace(alpha=alpha, family_alpha=family_alpha, family_size=size)

    def on_grid_of(self, bounds: tuple[float, float]) -> Plan:
        """The plan to sample with, for data between these bounds.

        Its default grid is chosen. Raises InvalidInput for a grid that is too coarse for the noise.
        """
        if isinstance(self.grid, Grid):
            self.grid.refuse_coarse(self.law)
        if self.grid != DEFAULT_GRID:
            return self
        return self.replace(grid=Grid.of_bounds(bounds, self.law))

    @property
    def known_grid(self) -> Grid | None:
        """The grid that votes were taken on; InvalidInput while the default is not chosen."""
        if self.grid == DEFAULT_GRID:
            raise InvalidInput(
                "the grid of this plan is the default, which depends on the bounds of the data; "
                "certify with the plan that was sampled: plan.on_grid_of(classifier.bounds)"
            )
        return self.grid

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the certificates that the plan's methods issue."""
        return tuple(map(self.name_of, self.methods))

    def name_of(self, text: str) -> str:
        """`truncated` for `truncated:0.6`; the whole text where several methods share the word."""
        return method_name(text, self.methods)

    def replace(self, **changes: Any) -> Plan:
        """The same plan with some fields changed."""
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without loss."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        lists = {name: list(getattr(self, name)) for name in ("methods", "radii", "looks")}
        grid = self.grid.to_dict() if isinstance(self.grid, Grid) else self.grid
        return fields | {"law": self.law.to_dict(), "grid": grid} | lists

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Plan:
        """The plan that `to_dict` was made from."""
        known = {field.name for field in dataclasses.fields(cls)}
        if set(fields) != known:
            strange = ", ".join(sorted(set(fields) ^ known))
            raise DataError(f"the fields of a plan are missing or unknown: {strange}")
        law = smoothing_law_from_dict(fields["law"])
        tuples = {name: tuple(fields[name]) for name in ("methods", "radii", "looks")}
        grid = DEFAULT_GRID if fields["grid"] == DEFAULT_GRID else Grid.from_dict(fields["grid"])
        return cls(**(fields | {"law": law, "grid": grid} | tuples))


def method_name(text: str, methods: tuple[str, ...]) -> str:
    """`truncated` for `truncated:0.6`; the whole text where several methods share the word."""
    kind = text.partition(":")[0]
    alike = [other for other in methods if other.partition(":")[0] == kind]
    return text if len(alike) > 1 else kind


def default_batch(d: int) -> int:
    """A power of two from 16 to 256 whose rows hold about 16 MB of float32 pixels."""
    return 1 << min(8, max(4, (2**22 // d).bit_length() - 1))


def _whole(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidInput(f"`{name}` must be a whole number >= {least}, got {shown(value)}")


def _probability(name: str, value: object) -> None:
    if not (isinstance(value, (int, float)) and 0 < value < 1):
        raise InvalidInput(f"`{name}` must be in (0, 1), got {shown(value)}")


# ---- What the certificate of a method is about


def subject_of(
    seen: SampledInput, plan: Plan, method: str, class_name: str | None = None
) -> Subject | None:
    """The subject of the certificate of a method, as the plan writes it; None without a class."""
    if seen.target is None:
        return None
    return Subject(
        target=seen.target,
        alpha=plan.alpha,
        method=method,
        n=plan.n,
        seed=plan.seed,
        seed_public=plan.seed_public,
        index=seen.index,
        model=seen.model,
        input=seen.input,
        class_name=class_name,
    )
