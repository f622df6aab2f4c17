"""What the certificate of a method is about: the class, the model, the input and the votes."""

from __future__ import annotations

from dsrs.methods.plan import Plan
from dsrs.proofs import Subject
from dsrs.votes import SampledInput


def subject_of(
    seen: SampledInput, plan: Plan, method: str, class_name: str | None = None
) -> Subject | None:
    """The subject of the certificate of a method, as the plan writes it; None without a class."""
    if seen.target is None:
        return None
    return Subject(
        target=seen.target,
        alpha=plan.alpha,
        method=method,
        n=plan.n,
        seed=plan.seed,
        seed_public=plan.seed_public,
        index=seen.index,
        model=seen.model,
        input=seen.input,
        class_name=class_name,
    )
