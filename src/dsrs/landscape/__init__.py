"""Accuracy against noise norm, and the choice of a law from it (MATH 6 and 7)."""
