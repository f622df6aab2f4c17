"""How long one check may take, how many integrands one step of a proof may evaluate, and what
verdict a check ends with.

Running out of either is no refutation: it raises Undecided.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from dsrs.audit.verdicts import NotACertificate, Refuted, Undecided, Verdict

PROCESSOR_SECONDS = 30.0  # of one check, unless the caller says otherwise
WALL_FACTOR = 1.5  # a busy machine may take this much longer by the clock on the wall
STEP_EVALUATIONS = 200_000  # of integrands, for one step


# The processor's clock is read so seldom: on some machines a look at it costs a millisecond.
LOOK_SECONDS = 0.05


@dataclass(slots=True)
class _End:
    """When a check must have ended, on the processor's clock and on the wall's; and the next time
    on the wall's clock to look at the other one."""

    seconds: float
    processor: float
    wall: float
    look: float = 0.0


_end: ContextVar[_End | None] = ContextVar("end", default=None)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Let `tick` raise after `seconds` of processor time, or WALL_FACTOR times as long by the
    clock."""
    end = _End(seconds, time.thread_time() + seconds, time.monotonic() + WALL_FACTOR * seconds)
    token = _end.set(end)
    try:
        yield
    finally:
        _end.reset(token)


def verdict_within(seconds: float, name: str, unread: str, check: Callable[[], Verdict]) -> Verdict:
    """The verdict of a check, or that of the exception which ends it.

    Args:
        seconds: processor seconds after which it is undecided.
        name: what to call the certificate in the verdict.
        unread: what to say of one that cannot be read, before the reason.
        check: the check.
    """
    began = time.thread_time()
    try:
        with time_limit(seconds):
            verdict = check()
    except NotACertificate as error:
        verdict = Verdict(name, "refuted", f"{unread}: {error}")
    except Refuted as error:
        verdict = Verdict(name, "refuted", str(error))
    except Undecided as doubt:
        verdict = Verdict(name, "undecided", str(doubt))
    except (ArithmeticError, ValueError) as error:
        # Floats of a search have overflowed: nothing is proved either way.
        reason = f"its numbers are too extreme to compute with: {error}"
        verdict = Verdict(name, "undecided", reason)
    except Exception as error:
        verdict = Verdict(name, "undecided", f"this check failed: {type(error).__name__}: {error}")
    return replace(verdict, seconds=time.thread_time() - began)


def tick() -> None:
    """Raise Undecided if the time of this check is over. Every long loop calls this."""
    end = _end.get()
    if end is None:
        return
    now = time.monotonic()
    if now < end.look:
        return
    end.look = now + LOOK_SECONDS
    late = not now <= end.wall  # also where no number of seconds was given
    if late or not time.thread_time() <= end.processor:
        end.look = 0.0  # once over, it stays so
        busy = f" ({WALL_FACTOR * end.seconds:g} by the clock: the machine is busy)" if late else ""
        raise Undecided(
            f"it needs more than the {end.seconds:g} seconds that one check may take{busy}"
        )


@dataclass
class Budget:
    """How many integrands one step of a proof may still evaluate."""

    left: int = STEP_EVALUATIONS

    def spend(self, count: int) -> None:
        """Take `count` evaluations from what is left; Undecided if there are too few."""
        tick()
        self.left -= count
        if self.left < 0:
            raise Undecided("an integral needs more evaluations than one step may take")
