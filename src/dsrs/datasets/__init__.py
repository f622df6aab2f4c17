"""Inputs to certify: arrays, IDX files, CIFAR-10 and folders of images, behind one record."""

from dsrs.datasets.cifar import read_array_pickle
from dsrs.datasets.dataset import Dataset, as_array, select, some_inputs
from dsrs.datasets.loading import dataset_of, is_collection, load_dataset, takes_frame

__all__ = [
    "Dataset",
    "as_array",
    "dataset_of",
    "is_collection",
    "load_dataset",
    "read_array_pickle",
    "select",
    "some_inputs",
    "takes_frame",
]
