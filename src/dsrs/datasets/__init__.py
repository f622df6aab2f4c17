"""Inputs to certify: arrays, IDX files, CIFAR-10 and folders of images, behind one record."""

from dsrs.datasets.dataset import Dataset, select
from dsrs.datasets.loading import load_dataset

__all__ = ["Dataset", "load_dataset", "select"]
