"""The smoothed classifier for everyday use: predict and certify, one input or many."""
