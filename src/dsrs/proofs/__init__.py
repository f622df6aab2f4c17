"""Certificates: what is claimed of one input, and the proof that makes it true."""
