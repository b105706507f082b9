"""Work in graph order: as much at once as is allowed, and nothing behind what failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")


def in_order(
    order: Sequence[str],
    parents: Mapping[str, Sequence[str]],
    work: Callable[[str], T],
    good: Callable[[T], bool],
    behind: Callable[[str, list[str]], T],
    *,
    threads: int = 1,
    stop_early: bool = False,
    cancel: Callable[[], None] = lambda: None,
) -> dict[str, T]:
    """Every name's result. `behind` makes the result of what cannot be begun: because of its parents,
    or, where none is named, because `stop_early` begins nothing more after a failure.

    `cancel` is called when the work is broken off, before what still runs is waited for.
    """
    results: dict[str, T] = {}

    def hindered(name: str) -> bool:
        """Whether a failure forbids to begin it; its result then says so."""
        bad = [p for p in parents.get(name, ()) if p in results and not good(results[p])]
        if not bad and not (stop_early and not all(map(good, results.values()))):
            return False
        results[name] = behind(name, bad)
        return True

    if threads > 1:
        _at_once(order, parents, work, hindered, results, threads, cancel)
        return {name: results[name] for name in order}
    for name in order:
        if not hindered(name):
            results[name] = work(name)
    return results


def _at_once(
    order: Sequence[str],
    parents: Mapping[str, Sequence[str]],
    work: Callable[[str], T],
    hindered: Callable[[str], bool],
    results: dict[str, T],
    threads: int,
    cancel: Callable[[], None],
) -> None:
    left = list(order)
    running: dict[Future[T], str] = {}
    with ThreadPoolExecutor(max_workers=threads, thread_name_prefix="instar") as pool:
        try:
            while left or running:
                for name in list(left):
                    if any(p in left or p in running.values() for p in parents.get(name, ())):
                        continue
                    if hindered(name):
                        left.remove(name)
                    elif len(running) < threads:
                        running[pool.submit(work, name)] = name
                        left.remove(name)
                if running:
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        results[running.pop(future)] = future.result()
        except BaseException:
            cancel()
            raise
