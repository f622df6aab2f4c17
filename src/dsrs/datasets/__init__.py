"""Inputs to certify: arrays, IDX files, CIFAR-10 and folders of images, behind one record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.datasets.cifar import read_array_pickle as read_array_pickle
    from dsrs.datasets.dataset import Dataset as Dataset
    from dsrs.datasets.dataset import as_array as as_array
    from dsrs.datasets.dataset import select as select
    from dsrs.datasets.dataset import some_inputs as some_inputs
    from dsrs.datasets.loading import dataset_of as dataset_of
    from dsrs.datasets.loading import is_collection as is_collection
    from dsrs.datasets.loading import load_dataset as load_dataset
    from dsrs.datasets.loading import takes_frame as takes_frame
else:
    __all__, __getattr__, __dir__ = exports(__name__)
