"""What a person is asked before anything is touched."""

from __future__ import annotations

from dataclasses import replace

from apply.worlds import DROP, ENV, ID, PLAIN, REWRITE, STATUS, filled, plan, wanted
from instar.apply import QuestionKind, questions
from instar.backends.memory import MemoryBackend
from instar.core.plan import Cost, Plan, TablePlan
from instar.core.schema import Hint, Wanted
from instar.core.types import Column, String
from instar.state import Store


def asked(table: TablePlan) -> list[tuple[QuestionKind, str]]:
    return [(q.kind, q.text) for q in questions(Plan(ENV, REWRITE, (table,)))]


def test_what_only_adds_asks_nothing(backend: MemoryBackend, store: Store) -> None:
    assert asked(plan(backend, store, Wanted(PLAIN))) == []
    filled(backend, store)
    assert asked(plan(backend, store, wanted(*PLAIN.columns, Column("note", String())))) == []


def test_a_drop_asks_with_its_own_words(backend: MemoryBackend, store: Store) -> None:
    filled(backend, store)
    (one,) = asked(plan(backend, store, wanted(ID, STATUS), DROP))
    assert one == (QuestionKind.DESTROY, "[main.orders] drops amount: the values are lost")


def test_a_rewrite_is_asked_about_once_with_its_rows_and_the_old_copy_apart(
    backend: MemoryBackend, store: Store
) -> None:
    filled(backend, store)
    wish = wanted(
        *PLAIN.columns, Column("l", String()), hints={("l",): Hint(using="upper(status)")}
    )
    (rewrite, backup, old) = asked(plan(backend, store, wish))
    assert rewrite[0] is QuestionKind.REWRITE
    for words in ("3 rows", "IRREVERSIBLE", "non-production environment first", "kept aside"):
        assert words in rewrite[1]
    assert backup == (
        QuestionKind.BACKUP,
        "[main.orders] is there a current backup of the table, or is the risk of losing data accepted?",
    )
    assert old[1].startswith("[main.orders] Drop the old copy")


def test_what_cannot_be_undone_is_said_with_its_size(backend: MemoryBackend, store: Store) -> None:
    filled(backend, store)
    change = plan(backend, store, wanted(*PLAIN.columns, Column("note", String())))
    heavy = Cost(rows=1_200_000, bytes=1, files=2)
    steps = tuple(
        replace(s, irreversible=("the protocol is upgraded",), cost=heavy) for s in change.steps
    )
    (one,) = questions(Plan(ENV, REWRITE, (replace(change, steps=steps),)))
    assert one.kind is QuestionKind.IRREVERSIBLE
    assert "(1,200,000 rows, 2 files, 1 byte)" in one.text
    assert one.text.endswith("cannot be undone: the protocol is upgraded")
    assert one.notes == ("the protocol is upgraded",)
