"""Inputs to certify: arrays, IDX files, CIFAR-10 and folders of images, behind one record."""

from dsrs.datasets.array_pickle import read_array_pickle
from dsrs.datasets.arrays import as_array
from dsrs.datasets.dataset import Dataset, select
from dsrs.datasets.in_memory import dataset_of, is_collection
from dsrs.datasets.loading import load_dataset, takes_frame
from dsrs.datasets.some_inputs import some_inputs

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
