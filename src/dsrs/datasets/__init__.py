"""Inputs to certify: arrays, IDX files, CIFAR-10 and folders of images, behind one record."""

from dsrs.datasets.dataset import Dataset, select

__all__ = ["Dataset", "select"]
