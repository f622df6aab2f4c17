"""Make a model that was never trained under noise bear it, and say what helped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.adapting.adapting import Adapted as Adapted
    from dsrs.adapting.adapting import adapt as adapt
    from dsrs.adapting.adapting import without_shared as without_shared
    from dsrs.adapting.judging import Budget as Budget
    from dsrs.adapting.judging import Candidate as Candidate
    from dsrs.adapting.judging import Learned as Learned
    from dsrs.adapting.judging import borne_size as borne_size
    from dsrs.adapting.learning import DEFAULT_WAYS as DEFAULT_WAYS
    from dsrs.adapting.learning import LEARNING_WAYS as LEARNING_WAYS
    from dsrs.adapting.learning import WAYS as WAYS
    from dsrs.adapting.learning import Learning as Learning
else:
    __all__, __getattr__, __dir__ = exports(__name__)
