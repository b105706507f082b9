"""Children that do something in their own process before they become the command.

Not by `preexec_fn`: that forks, and a fork of a process in which gRPC has threads may never come to its command.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

# A suite that runs in the background has ^C switched off, and children inherit that.
HEEDS_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)"
DIES_WITH_PARENT = "from instar.spark.supervisor import die_with_parent; die_with_parent()"


def first(code: str, command: Sequence[str]) -> list[str]:
    """The command, behind a line of Python that the same process runs before it."""
    become = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-c", f"{code}; {become}", *command]
