"""Runs plans: lock, journal, one step after the other, each verified; and the way back after a crash."""

from instar.apply.engine import apply_plan, apply_table
from instar.apply.failpoints import Failpoints
from instar.apply.questions import Question, QuestionKind, questions
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
    "questions",
    "resume",
]
