"""Noise laws: their facts, their components for the kernels, sampling, text and JSON form."""

from dsrs.laws.additional import AdditionalLaw, sample_additional
from dsrs.laws.component import Component
from dsrs.laws.generalized_gaussian import GeneralizedGaussian
from dsrs.laws.naming import (
    additional_law,
    chosen_from_votes,
    law_from_dict,
    names_a_law,
    parse_additional_law,
    register,
    short_law_text,
)
from dsrs.laws.rescaled import Rescaled
from dsrs.laws.smoothing import register_smoothing, smoothing_law_from_dict
from dsrs.laws.truncated import Truncated, heuristic_percentile
from dsrs.laws.weighted import Weighted

__all__ = [
    "AdditionalLaw",
    "Component",
    "GeneralizedGaussian",
    "Rescaled",
    "Truncated",
    "Weighted",
    "additional_law",
    "chosen_from_votes",
    "heuristic_percentile",
    "law_from_dict",
    "names_a_law",
    "parse_additional_law",
    "register",
    "register_smoothing",
    "sample_additional",
    "short_law_text",
    "smoothing_law_from_dict",
]
