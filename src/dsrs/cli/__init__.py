"""The command line. Nothing else in the package imports it."""
