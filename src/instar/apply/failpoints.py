"""Places where a test may kill the process, to prove that the next one finds its way.

`INSTAR_FAILPOINT=name[:nth]` kills at the nth time (the first, if not said) that the name is reached;
`INSTAR_FAILPOINT_VICTIM=pid` kills that process in its place: an engine's server, say;
`INSTAR_FAILPOINT_TRACE=file` appends every name reached, so that a suite can go through them all.
Names are stable: `journal:begun`, `journal:finished`, and for each kind of step `<kind>:before`,
`<kind>:applying`, `<kind>:ran`, `<kind>:after`; backends add their own inside a step.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Mapping

POINT, TRACE = "INSTAR_FAILPOINT", "INSTAR_FAILPOINT_TRACE"
VICTIM = "INSTAR_FAILPOINT_VICTIM"


class Failpoints:
    """Call it with a name: nothing happens, unless this is the place."""

    def __init__(
        self, point: str | None = None, trace: str | None = None, victim: str | None = None
    ) -> None:
        name, colon, nth = (point or "").rpartition(":")
        numbered = bool(colon) and nth.isdecimal()
        self._name = name if numbered else point or None
        self._nth = int(nth) if numbered else 1
        self._trace = trace
        self._victim = int(victim) if victim else None
        self._seen: Counter[str] = Counter()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Failpoints:
        return cls(environment.get(POINT), environment.get(TRACE), environment.get(VICTIM))

    def __call__(self, name: str) -> None:
        self._seen[name] += 1
        if self._trace is not None:
            with open(self._trace, "a", encoding="utf-8") as file:
                file.write(name + "\n")
        if name == self._name and self._seen[name] == self._nth:
            if self._victim is None:
                kill_now()
            else:
                os.kill(self._victim, signal.SIGKILL)


def kill_now() -> None:
    """End this process as a crash would: no handler, no `finally`, nothing flushed."""
    if hasattr(signal, "SIGKILL"):
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(137)
