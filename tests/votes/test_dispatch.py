"""The dispatcher, with workers of this process that die, are slow, or are refused."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, wait

import pytest

from dsrs.errors import ClassifierError, ClusterError
from dsrs.votes import dispatch
from dsrs.votes.dispatch import Dispatcher, Worker, WorkerLost


class Hand:
    """A worker that counts in a thread of its own: work is a number of milliseconds."""

    def __init__(self, name: str = "hand", *, refused: str = "", slowness: float = 1.0) -> None:
        self.name, self.slowness = name, slowness
        self.ready: Future[None] = Future()
        self.dismissed = False
        self.given: list[float] = []
        self._pending: list[Future[float]] = []
        self._lock = threading.Lock()
        if refused:
            self.ready.set_exception(ClassifierError(refused))
        else:
            self.ready.set_result(None)

    def count(self, work: float) -> Future[float]:
        answer: Future[float] = Future()
        self.given.append(work)
        self._pending.append(answer)
        threading.Thread(target=self._count, args=(work, answer), daemon=True).start()
        return answer

    def _count(self, work: float, answer: Future[float]) -> None:
        with self._lock:
            if work < 0:
                answer.set_exception(ClassifierError(f"no votes for {work}"))
                return
            time.sleep(self.slowness * work / 1000)
            if not answer.done():
                answer.set_result(work)

    def die(self) -> None:
        for answer in self._pending:
            if not answer.done():
                answer.set_exception(WorkerLost(self.name))

    def dismiss(self) -> None:
        self.dismissed = True


class Hands:
    """A crew that is told whom it has."""

    def __init__(self, *hands: Hand) -> None:
        self.new: list[Hand] = list(hands)
        self.gone: list[tuple[str, bool]] = []

    def recruit(self) -> Sequence[Worker]:
        found, self.new = self.new, []
        return found

    def lost(self, worker: Worker, refused: bool) -> None:
        self.gone.append((worker.name, refused))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "TICK", 0.01)
    monkeypatch.setattr(dispatch, "LATE_SECONDS", 0.1)
    monkeypatch.setattr(dispatch, "PATIENCE", 0.3)


def answers(dispatcher: Dispatcher, works: Sequence[float]) -> list[float]:
    pending = [dispatcher.submit(work, 1) for work in works]
    wait(pending, timeout=20)
    return [one.result(timeout=0) for one in pending]


def test_everybody_works_and_every_unit_is_answered() -> None:
    hands = [Hand(str(n)) for n in range(3)]
    dispatcher = Dispatcher(Hands(*hands))
    works = [float(n % 7) for n in range(60)]
    assert answers(dispatcher, works) == works
    dispatcher.close()
    assert all(hand.given for hand in hands)
    assert sorted(work for hand in hands for work in hand.given) == sorted(works)
    assert all(hand.dismissed for hand in hands)


@pytest.mark.parametrize("seed", range(5))
def test_units_of_workers_that_die_are_given_again(seed: int) -> None:
    generator = random.Random(seed)
    hands = [Hand(str(n)) for n in range(4)]
    crew = Hands(*hands)
    dispatcher = Dispatcher(crew)
    works = [float(n % 5) for n in range(80)]
    pending = [dispatcher.submit(work, 1) for work in works]
    for hand in hands[:3]:
        time.sleep(generator.uniform(0, 0.03))
        hand.die()
    crew.new = [Hand("late")]
    wait(pending, timeout=20)
    assert [one.result(timeout=0) for one in pending] == works
    dispatcher.close()
    assert all(not refused for _, refused in crew.gone)


def test_a_slow_worker_does_not_keep_others_waiting() -> None:
    """Its units are given to others, and whatever it answers in the end is dropped."""
    slow, quick = Hand("slow", slowness=1000.0), Hand("quick")
    dispatcher = Dispatcher(Hands(quick))
    assert answers(dispatcher, [2.0] * 20) == [2.0] * 20  # how long such a unit takes
    dispatcher._crew.new = [slow]  # type: ignore[attr-defined]
    time.sleep(0.1)
    began = time.monotonic()
    works = [2.0 + n / 100 for n in range(8)]
    assert answers(dispatcher, works) == works
    assert slow.given
    assert set(slow.given) <= set(quick.given)
    assert time.monotonic() - began < 1.5
    dispatcher.close()


def test_a_refused_worker_gets_no_work(caplog: pytest.LogCaptureFixture) -> None:
    bad, good = Hand("bad", refused="another model"), Hand("good")
    crew = Hands(bad, good)
    dispatcher = Dispatcher(crew)
    assert answers(dispatcher, [1.0] * 10) == [1.0] * 10
    dispatcher.close()
    assert not bad.given
    assert bad.dismissed
    assert crew.gone == [("bad", True)]
    assert "refused: another model" in caplog.text


def test_where_all_are_refused_the_work_ends_with_the_reason() -> None:
    dispatcher = Dispatcher(Hands(Hand(refused="another model")))
    with pytest.raises(ClusterError, match="another model"):
        answers(dispatcher, [1.0])
    dispatcher.close()


def test_where_nobody_comes_the_work_ends() -> None:
    dispatcher = Dispatcher(Hands())
    with pytest.raises(ClusterError, match="there was no worker"):
        answers(dispatcher, [1.0])
    dispatcher.close()


def test_a_unit_that_kills_its_workers_is_given_up() -> None:
    class Deadly(Hand):
        def count(self, work: float) -> Future[float]:
            answer: Future[float] = Future()
            answer.set_exception(WorkerLost(self.name))
            return answer

    dispatcher = Dispatcher(Hands(*(Deadly(str(n)) for n in range(9))))
    with pytest.raises(ClusterError, match="5 workers were lost with the same unit"):
        answers(dispatcher, [1.0])
    dispatcher.close()


def test_errors_of_the_classifier_are_told_and_cost_no_worker() -> None:
    hand = Hand()
    dispatcher = Dispatcher(Hands(hand))
    failed = dispatcher.submit(-1.0, 1)
    with pytest.raises(ClassifierError, match="no votes for -1"):
        failed.result(timeout=10)
    assert answers(dispatcher, [1.0, 2.0]) == [1.0, 2.0]
    dispatcher.close()


def test_work_that_nobody_wants_any_more_is_not_begun() -> None:
    hand = Hand()
    dispatcher = Dispatcher(Hands(hand))
    pending = [dispatcher.submit(50.0 + n, 1) for n in range(6)]
    time.sleep(0.03)
    for one in pending:
        one.cancel()
    assert answers(dispatcher, [1.0]) == [1.0]
    dispatcher.close()
    assert len(hand.given) == dispatch.AT_ONCE + 1


def test_a_crew_that_fails_ends_the_work() -> None:
    class Broken(Hands):
        def recruit(self) -> Sequence[Worker]:
            raise OSError("the head node is gone")

    dispatcher = Dispatcher(Broken())
    with pytest.raises(ClusterError, match="the head node is gone"):
        answers(dispatcher, [1.0])
    dispatcher.close()
