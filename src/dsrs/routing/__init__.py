"""Routed classifiers: a noise law (or a model) for each input, soundly (docs/routing.md)."""

from __future__ import annotations

from dsrs.classifiers.routed import Member
from dsrs.routing.classifier import RoutedClassifier
from dsrs.routing.folder import write_route

__all__ = ["Member", "RoutedClassifier", "write_route"]
