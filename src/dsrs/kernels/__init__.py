"""Compiled functions, and where they are kept between two processes."""
