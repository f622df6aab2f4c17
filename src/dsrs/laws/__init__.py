"""Noise laws: their facts, their components for the kernels, sampling, text and JSON form."""

from dsrs.laws.additional import AdditionalLaw, sample_additional
from dsrs.laws.bins import HISTOGRAM_BINS
from dsrs.laws.component import Component, log_gamma_peak, log_gamma_step
from dsrs.laws.generalized_gaussian import Floats, GeneralizedGaussian
from dsrs.laws.grid import DEFAULT_GRID, NORMAL_ERROR, UNIT, WITHOUT_GRID, Grid
from dsrs.laws.naming import (
    LAW_KINDS,
    additional_law,
    chosen_from_votes,
    law_from_dict,
    names_a_law,
    parse_additional_law,
    register,
    short_law_text,
)
from dsrs.laws.norms import NORMS, Norm, check_norm, norm_of
from dsrs.laws.parameters import real_number, shown
from dsrs.laws.rescaled import Rescaled
from dsrs.laws.smoothing import SMOOTHING_KINDS, register_smoothing, smoothing_law_from_dict
from dsrs.laws.truncated import SMALLEST_PERCENTILE, Truncated, heuristic_percentile
from dsrs.laws.weighted import Weighted

__all__ = [
    "DEFAULT_GRID",
    "HISTOGRAM_BINS",
    "LAW_KINDS",
    "NORMAL_ERROR",
    "NORMS",
    "SMALLEST_PERCENTILE",
    "SMOOTHING_KINDS",
    "UNIT",
    "WITHOUT_GRID",
    "AdditionalLaw",
    "Component",
    "Floats",
    "GeneralizedGaussian",
    "Grid",
    "Norm",
    "Rescaled",
    "Truncated",
    "Weighted",
    "additional_law",
    "check_norm",
    "chosen_from_votes",
    "heuristic_percentile",
    "law_from_dict",
    "log_gamma_peak",
    "log_gamma_step",
    "names_a_law",
    "norm_of",
    "parse_additional_law",
    "real_number",
    "register",
    "register_smoothing",
    "sample_additional",
    "short_law_text",
    "shown",
    "smoothing_law_from_dict",
]
