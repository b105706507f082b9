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
    if threads <= 1:
        for name in order:
            bad = _bad(name, parents, results, good)
            stopped = bool(bad) or (stop_early and _failed(results, good))
            results[name] = behind(name, bad) if stopped else work(name)
        return results
    left = list(order)
    running: dict[Future[T], str] = {}
    with ThreadPoolExecutor(max_workers=threads, thread_name_prefix="instar") as pool:
        try:
            while left or running:
                for name in list(left):
                    if any(p in left or p in running.values() for p in parents.get(name, ())):
                        continue
                    bad = _bad(name, parents, results, good)
                    if bad or (stop_early and _failed(results, good)):
                        results[name] = behind(name, bad)
                        left.remove(name)
                    elif len(running) < threads:
                        running[pool.submit(work, name)] = name
                        left.remove(name)
                if not running:
                    continue
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    results[running.pop(future)] = future.result()
        except BaseException:
            cancel()
            raise
    return {name: results[name] for name in order}


def _bad(
    name: str,
    parents: Mapping[str, Sequence[str]],
    results: Mapping[str, T],
    good: Callable[[T], bool],
) -> list[str]:
    return [p for p in parents.get(name, ()) if p in results and not good(results[p])]


def _failed(results: Mapping[str, T], good: Callable[[T], bool]) -> bool:
    return any(not good(result) for result in results.values())
