"""Classifiers from any framework, behind one small interface: one adapter a file."""

from dsrs.classifiers.base import Classifier, checked_classes

__all__ = ["Classifier", "checked_classes"]
