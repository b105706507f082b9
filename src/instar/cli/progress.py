"""What a use case says while it works: notes as lines, long work as a bar where a person watches."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Any

from instar.cli.screen import Screen

PATIENCE = 1.0
"""Seconds before a bar is drawn: quick work leaves no trace on the screen."""


class Watcher:
    """The listener of `instar.app`, on stderr. Use it as a context; `pause` before a question."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None
        self._bars: Any = None
        self._task: tuple[str, int, int | None] | None = None
        self._task_id: Any = None
        self._logged = 0.0

    def __enter__(self) -> Watcher:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.pause()

    def note(self, text: str) -> None:
        with self._lock:
            if self._bars is not None:
                self._bars.console.print(text, style="dim", markup=False, highlight=False)
            else:
                self._screen.note(text)

    def progress(self, what: str, done: int, total: int | None) -> None:
        with self._lock:
            self._log(what, done, total)
            if not self._screen.live:
                return
            fresh = self._task is None or self._task[0] != what
            self._task = (what, done, total)
            if self._bars is not None:
                self._draw(fresh)
            elif self._timer is None:
                self._timer = threading.Timer(PATIENCE, self._begin)
                self._timer.daemon = True
                self._timer.start()

    def pause(self) -> None:
        """Take every bar off the screen; the next progress may draw one again."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._bars is not None:
                self._bars.stop()
            self._timer = self._bars = self._task = self._task_id = None

    def _log(self, what: str, done: int, total: int | None) -> None:
        """Machines get at most one line a second, and the end."""
        now = time.monotonic()
        if now - self._logged >= PATIENCE or done == total:
            self._logged = now
            self._screen.event("progress", what=what, done=done, total=total)

    def _begin(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._task is None or self._bars is not None:
                return
            self._bars = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=24),
                TextColumn("{task.fields[count]}", markup=False),
                TimeElapsedColumn(),
                console=Console(stderr=True, no_color=not self._screen.err.on),
                transient=True,
            )
            self._bars.start()
            self._draw(fresh=True)

    def _draw(self, fresh: bool) -> None:
        assert self._task is not None
        what, done, total = self._task
        if fresh and self._task_id is not None:
            self._bars.remove_task(self._task_id)
            self._task_id = None
        if self._task_id is None:
            self._task_id = self._bars.add_task(what, total=total, count="")
        speed = self._bars.tasks[0].speed
        rate = f" · {speed:,.0f}/s" if speed else ""
        count = f"{done:,}" + (f"/{total:,}" if total is not None else "") + rate if done else ""
        self._bars.update(self._task_id, completed=done, total=total, count=count)
