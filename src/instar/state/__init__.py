"""What Instar remembers between two commands: locks, the journal, versions, renames, kept copies."""

from instar.state.journal import Entry, JournalRun, JournalStep, StepStatus
from instar.state.locks import Holder, Lock
from instar.state.memory import Event, Kept, Version
from instar.state.store import Store, open_store

__all__ = [
    "Entry",
    "Event",
    "Holder",
    "JournalRun",
    "JournalStep",
    "Kept",
    "Lock",
    "StepStatus",
    "Store",
    "Version",
    "open_store",
]
