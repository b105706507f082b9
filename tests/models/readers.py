"""A reader that asks again and again while something else changes what it reads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def reading(ask: Callable[[], Any]) -> Iterator[list[Any]]:
    """Every answer, or the error in its place, in their order; one before and one after at the least."""
    seen: list[Any] = [ask()]
    over = threading.Event()

    def loop() -> None:
        while not over.is_set():
            try:
                seen.append(ask())
            except Exception as error:
                seen.append(error)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()
        seen.append(ask())
