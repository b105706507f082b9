"""What a use case says while it works: notes as lines, long work as a bar where a person watches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from instar.cli.screen import LogFormat, Screen

PATIENCE = 1.0
"""Seconds before a bar is drawn: quick work leaves no trace on the screen."""
SELDOM = 10.0
"""Seconds between two lines where there is no terminal to draw a bar on."""


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
        self._named = ""
        self._pace = Pace(0)

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
            fresh = self._task is None or self._task[0] != what
            if fresh:
                self._pace = Pace(done)
            self._task = (what, done, total)
            self._log(what, done, total)
            if self._bars is not None:
                self._draw(fresh)
            elif self._timer is None and self._screen.live:
                self._later(PATIENCE, self._begin)
            elif self._timer is None:
                self._later(SELDOM, self._line)

    def _later(self, seconds: float, then: Callable[[], None]) -> None:
        self._timer = threading.Timer(seconds, then)
        self._timer.daemon = True
        self._timer.start()

    def _line(self) -> None:
        """Where nobody can see a bar, a line now and then tells that the work goes on."""
        with self._lock:
            if self._task is None or self._timer is None:
                return
            what, done, total = self._task
            if self._screen.log_format is LogFormat.TEXT:
                told = [what, *self._pace.words(done, total), f"{clock(self._pace.spent)} so far"]
                self._screen.note(" · ".join(told))
            self._later(SELDOM, self._line)

    def pause(self) -> None:
        """Take every bar off the screen; the next progress may draw one again."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._bars is not None:
                self._bars.stop()
            self._timer = self._bars = self._task = self._task_id = None

    def _log(self, what: str, done: int, total: int | None) -> None:
        """Machines get at most one line a second of one work, and the end."""
        now = time.monotonic()
        if now - self._logged >= PATIENCE or done == total or what != self._named:
            self._logged, self._named = now, what
            rate, left = self._pace.rate(done), self._pace.left(done, total)
            self._screen.event(
                "progress", what=what, done=done, total=total, rate=rate, seconds_left=left
            )

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
        count = " · ".join(self._pace.words(done, total))
        self._bars.update(self._task_id, completed=done, total=total, count=count)


class Pace:
    """How fast one work goes on, from where it was when it was first heard of: it may be resumed."""

    def __init__(self, first: int) -> None:
        self._first, self._since = first, time.monotonic()

    @property
    def spent(self) -> float:
        return time.monotonic() - self._since

    def rate(self, done: int) -> int | None:
        """In a second; None while nothing tells."""
        seconds = self.spent
        return round((done - self._first) / seconds) or None if seconds >= PATIENCE else None

    def left(self, done: int, total: int | None) -> int | None:
        """Seconds, where it is known how much there is to do."""
        if total is None or done <= self._first or self.spent < PATIENCE:
            return None
        return round((total - done) * self.spent / (done - self._first))

    def words(self, done: int, total: int | None) -> list[str]:
        rate, left = self.rate(done), self.left(done, total)
        said = [f"{done:,}" + (f"/{total:,}" if total is not None else "")] if done else []
        said += [f"{rate:,}/s"] if rate else []
        return [*said, f"{clock(left)} left"] if left else said


def clock(seconds: float) -> str:
    """`0:00:42`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
