"""From a classifier and inputs to certificates: one input, many inputs, again from votes."""
