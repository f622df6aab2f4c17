"""Names for people of the recorded data sets, trainings and models."""

from __future__ import annotations

import re

from dsrs.paper.recorded import RECORDED_TRAININGS

DATASET_TITLES = {
    "mnist": "MNIST",
    "cifar10": "CIFAR-10",
    "cifar": "CIFAR-10",
    "tinyimagenet": "TinyImageNet",
    "imagenet": "ImageNet",
}
TRAINING_TITLES = {
    "gaussian": "Gaussian augmentation",
    "consistency": "Consistency",
    "smoothmix": "SmoothMix",
    "salman": "SmoothAdv (Salman et al.)",
}


def model_title(model: str) -> str:
    """`cohen-mnist-380-1.00` is "MNIST, Gaussian augmentation" over "k = 380, sigma = 1.00".

    A word that is not known is shown as it is.
    """
    training, *words = model.split("-")
    name = RECORDED_TRAININGS.get(training, training)
    names, parts = [TRAINING_TITLES.get(name, name)], []
    for word in words:
        if word in DATASET_TITLES:
            names.insert(0, DATASET_TITLES[word])
        elif re.fullmatch(r"\d+", word):
            parts.append(f"$k$ = {word}")
        elif re.fullmatch(r"\d+\.\d+", word):
            parts.append(rf"$\sigma$ = {word}")
        else:
            parts.append(word)
    return "\n".join(", ".join(line) for line in (names, parts) if line)
