"""Noise laws: their facts, their components for the kernels, sampling, text and JSON form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.laws.additional import AdditionalLaw as AdditionalLaw
    from dsrs.laws.additional import sample_additional as sample_additional
    from dsrs.laws.grid import DEFAULT_GRID as DEFAULT_GRID
    from dsrs.laws.grid import NORMAL_ERROR as NORMAL_ERROR
    from dsrs.laws.grid import UNIT as UNIT
    from dsrs.laws.grid import WITHOUT_GRID as WITHOUT_GRID
    from dsrs.laws.grid import Grid as Grid
    from dsrs.laws.naming import LAW_KINDS as LAW_KINDS
    from dsrs.laws.naming import SMALLEST_PERCENTILE as SMALLEST_PERCENTILE
    from dsrs.laws.naming import Rescaled as Rescaled
    from dsrs.laws.naming import Truncated as Truncated
    from dsrs.laws.naming import additional_law as additional_law
    from dsrs.laws.naming import chosen_from_votes as chosen_from_votes
    from dsrs.laws.naming import heuristic_percentile as heuristic_percentile
    from dsrs.laws.naming import law_from_dict as law_from_dict
    from dsrs.laws.naming import names_a_law as names_a_law
    from dsrs.laws.naming import parse_additional_law as parse_additional_law
    from dsrs.laws.naming import register as register
    from dsrs.laws.naming import short_law_text as short_law_text
    from dsrs.laws.smoothing import HISTOGRAM_BINS as HISTOGRAM_BINS
    from dsrs.laws.smoothing import NORMS as NORMS
    from dsrs.laws.smoothing import SMOOTHING_KINDS as SMOOTHING_KINDS
    from dsrs.laws.smoothing import Component as Component
    from dsrs.laws.smoothing import Floats as Floats
    from dsrs.laws.smoothing import GeneralizedGaussian as GeneralizedGaussian
    from dsrs.laws.smoothing import Norm as Norm
    from dsrs.laws.smoothing import check_norm as check_norm
    from dsrs.laws.smoothing import log_gamma_peak as log_gamma_peak
    from dsrs.laws.smoothing import log_gamma_step as log_gamma_step
    from dsrs.laws.smoothing import norm_of as norm_of
    from dsrs.laws.smoothing import real_number as real_number
    from dsrs.laws.smoothing import register_smoothing as register_smoothing
    from dsrs.laws.smoothing import shown as shown
    from dsrs.laws.smoothing import smoothing_law_from_dict as smoothing_law_from_dict
    from dsrs.laws.weighted import Weighted as Weighted
else:
    __all__, __getattr__, __dir__ = exports(__name__)
