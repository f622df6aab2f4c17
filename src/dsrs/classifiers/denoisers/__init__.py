"""What may come between the noise and a model: clipping, a denoiser, a normalisation.

Whatever is applied to the noisy input alone, row by row, and is fixed before the votes are taken,
is a part of the classifier: a certificate of the whole is as sound as one of the model
(docs/math.md). One file a kind.
"""

from dsrs.classifiers.denoisers.base import Chain, Denoiser
from dsrs.classifiers.denoisers.registry import denoiser_from

__all__ = ["Chain", "Denoiser", "denoiser_from"]
