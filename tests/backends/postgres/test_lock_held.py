"""Writers wait for a moment: a cut-over that would hold its lock for longer is not begun, or lets go of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backends.postgres.world import World, widening
from instar.errors import OutcomeUnknown

SLOW = """CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
'BEGIN PERFORM pg_catalog.pg_sleep(5); RETURN NEW; END';
CREATE TRIGGER slow BEFORE INSERT ON t__instar_new FOR EACH ROW EXECUTE FUNCTION slow()"""


def with_limits(world: World, monkeypatch: pytest.MonkeyPatch, **limits: float) -> None:
    session = world.backend.session
    monkeypatch.setattr(session, "patience", replace(session.patience, attempts=2, **limits))  # type: ignore[arg-type]


def test_no_lock_is_asked_for_while_many_changes_wait(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody changes more rows behind every catching up than a cut-over takes over."""
    with_limits(world, monkeypatch, most_under_lock=10)
    plan = widening(world, 100)

    def busy(point: str) -> None:
        if point == "recreate cut-over":
            world.sql("UPDATE t SET n = n + 1 WHERE id <= 11")

    with pytest.raises(OutcomeUnknown, match="10 changes and more wait") as caught:
        world.run(plan, busy)
    assert caught.value.code == "E263"
    assert "Its copy is ready and is kept" in str(caught.value.hint)
    memo = world.run(plan)
    assert memo["followed"] == "11"
    assert world.sql("SELECT sum(n) FROM t") == [(5050 + 2 * 11,)]


def test_what_takes_too_long_under_the_lock_lets_go_of_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_limits(world, monkeypatch, under_lock=0.2)
    plan = widening(world, 100)

    def slow(point: str) -> None:
        if point == "recreate entered swap":
            world.sql(SLOW)
        elif point == "recreate cut-over":
            world.sql(
                "ALTER TABLE t__instar_new ENABLE TRIGGER slow; UPDATE t SET n = 0 WHERE id = 1"
            )
        elif point == "recreate catch up" and "t__instar_new" in triggers(world):
            world.sql("ALTER TABLE t__instar_new DISABLE TRIGGER slow")

    with pytest.raises(OutcomeUnknown, match="has let go of its lock") as caught:
        world.run(plan, slow)
    assert caught.value.code == "E263"
    world.sql("DROP TRIGGER slow ON t__instar_new")
    assert int(world.run(plan)["lock_ms"]) < 1000
    assert world.sql("SELECT sum(n) FROM t") == [(5049,)]


def triggers(world: World) -> list[object]:
    rows = world.sql(
        "SELECT tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal AND tgname = 'slow'"
    )
    return [row[0] for row in rows]
