"""From probability intervals to the largest provable radius: shells, dual bound, search, proof."""

from dsrs.duality.base import Floats, base_of, log_p, within_line
from dsrs.duality.bound import (
    BOUND_THINNING,
    HIDDEN,
    LARGEST_ROUNDING,
    Problem,
    bound_on,
    chosen_ends,
    dual_bound,
)
from dsrs.duality.curve import KINKED_DIMENSION, Cutting, jumps, strips
from dsrs.duality.density import Components, active_on, components_of, log_term, pieces_of
from dsrs.duality.kernel import (
    affordable_work,
    cache_folder,
    compile_here,
    compile_kernels,
    mark_complete,
    prepare,
    switch,
)
from dsrs.duality.measure import measure
from dsrs.duality.newton import general_multipliers, newton_step, slope_of, start_alone
from dsrs.duality.nodes import ALONE, GENERAL, SPLIT, Search, kind_of, lay_nodes
from dsrs.duality.quadrature import curve_integrand, line_integrand
from dsrs.duality.radius import (
    ABSTAINED,
    CERTIFIED,
    INFEASIBLE,
    LONGEST_CHAIN,
    SETTLED,
    UNDECIDED,
    Proved,
    best_multipliers,
    crossing_radius,
    largest_radius,
    loss_at_shorter_shifts,
    to_zero,
)
from dsrs.duality.rules import NESTED_NODES, NESTED_WEIGHTS
from dsrs.duality.scan import best_alone, scan_multipliers, slope_at, sweep_multipliers
from dsrs.duality.signs import Signs, signs_on
from dsrs.duality.thresholds import (
    alone_multipliers,
    line_value,
    predicted,
    region_threshold,
    rough_normal_quantile,
    split_multipliers,
)
from dsrs.duality.two_terms import NEGATIVE, POSITIVE, UNSURE
from dsrs.duality.variation import covered_step, total_variation

__all__ = [
    "ABSTAINED",
    "ALONE",
    "BOUND_THINNING",
    "CERTIFIED",
    "GENERAL",
    "HIDDEN",
    "INFEASIBLE",
    "KINKED_DIMENSION",
    "LARGEST_ROUNDING",
    "LONGEST_CHAIN",
    "NEGATIVE",
    "NESTED_NODES",
    "NESTED_WEIGHTS",
    "POSITIVE",
    "SETTLED",
    "SPLIT",
    "UNDECIDED",
    "UNSURE",
    "Components",
    "Cutting",
    "Floats",
    "Problem",
    "Proved",
    "Search",
    "Signs",
    "active_on",
    "affordable_work",
    "alone_multipliers",
    "base_of",
    "best_alone",
    "best_multipliers",
    "bound_on",
    "cache_folder",
    "chosen_ends",
    "compile_here",
    "compile_kernels",
    "components_of",
    "covered_step",
    "crossing_radius",
    "curve_integrand",
    "dual_bound",
    "general_multipliers",
    "jumps",
    "kind_of",
    "largest_radius",
    "lay_nodes",
    "line_integrand",
    "line_value",
    "log_p",
    "log_term",
    "loss_at_shorter_shifts",
    "mark_complete",
    "measure",
    "newton_step",
    "pieces_of",
    "predicted",
    "prepare",
    "region_threshold",
    "rough_normal_quantile",
    "scan_multipliers",
    "signs_on",
    "slope_at",
    "slope_of",
    "split_multipliers",
    "start_alone",
    "strips",
    "sweep_multipliers",
    "switch",
    "to_zero",
    "total_variation",
    "within_line",
]
