"""The bins of noise norm in which votes are counted: of equal mass under P."""

HISTOGRAM_BINS = 64
