"""Runs plans: lock, journal, one step after the other, each verified; and the way back after a crash."""

from instar.apply.engine import apply_plan, apply_table, refuse_blocked
from instar.apply.failpoints import Failpoints
from instar.apply.questions import Question, QuestionKind, ask_all, questions
from instar.apply.report import Counted, Result, TableReport
from instar.apply.resume import resume

__all__ = [
    "Counted",
    "Failpoints",
    "Question",
    "QuestionKind",
    "Result",
    "TableReport",
    "apply_plan",
    "apply_table",
    "ask_all",
    "questions",
    "refuse_blocked",
    "resume",
]
