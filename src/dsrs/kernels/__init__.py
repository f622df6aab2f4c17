"""Compiled functions, where they are kept between two processes, and how many threads run."""
