"""Noise laws: radial distributions, weights, sampling."""

from dsrs.laws.additional import AdditionalLaw, ShellLaw, sample_additional
from dsrs.laws.generalized_gaussian import GeneralizedGaussian
from dsrs.laws.naming import additional_law, parse_additional_law
from dsrs.laws.rescaled import Rescaled
from dsrs.laws.truncated import Truncated, heuristic_percentile

__all__ = [
    "AdditionalLaw",
    "GeneralizedGaussian",
    "Rescaled",
    "ShellLaw",
    "Truncated",
    "additional_law",
    "heuristic_percentile",
    "parse_additional_law",
    "sample_additional",
]
