"""Every row is compared: all that are still, chunk by chunk, and those that writers change, as they are taken over."""

from __future__ import annotations

import pytest

from backends.postgres.world import World, relations, widening
from backends.world import at
from instar.errors import VerificationFailed

ALL = "UPDATE t SET n = n + 1"
SPOIL = """CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS
'BEGIN IF NEW.id = 1234 THEN NEW.n := 0; END IF; RETURN NEW; END';
CREATE TRIGGER spoils BEFORE INSERT ON t__instar_new FOR EACH ROW EXECUTE FUNCTION spoil()"""


def test_what_changed_before_the_comparison_is_taken_over_first(world: World) -> None:
    memo = world.run(widening(world, 2000), at("recreate entered verify", lambda: world.sql(ALL)))
    assert (memo["verified"], memo["followed"]) == ("2000", "0")


@pytest.mark.parametrize("point", ["recreate entered verify", "recreate entered swap"])
def test_a_resume_takes_over_what_changed_since_and_compares_it(world: World, point: str) -> None:
    plan = widening(world, 2000)

    def kill(reached: str) -> None:
        if reached == point:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.run(plan, kill)
    world.backend.session.rollback()
    world.sql(ALL)
    memo = world.run(plan)
    compared = int(memo.get("verified", "0")) + int(memo["followed"])
    assert compared == 2000
    assert world.sql("SELECT sum(n) FROM t") == [(2003000,)]


@pytest.mark.parametrize(
    "point", ["recreate entered swap", "recreate cut-over"], ids=["catching up", "under the lock"]
)
def test_what_is_taken_over_behind_the_comparison_is_compared_too(world: World, point: str) -> None:
    plan = widening(world, 2000)

    def others() -> None:
        world.sql(SPOIL)
        world.sql(
            "UPDATE t SET n = n + 1 WHERE id BETWEEN 1200 AND 1300; DELETE FROM t WHERE id = 5"
        )

    with pytest.raises(VerificationFailed) as caught:
        world.run(plan, at(point, others))
    assert caught.value.code == "E256"
    assert "differs from the table: (1234)" in caught.value.message
    assert relations(world) == ["t"]


def test_keys_that_changed_behind_the_comparison_are_told_apart(world: World) -> None:
    change = "UPDATE t SET n = 0 WHERE id <= 3; DELETE FROM t WHERE id = 5"
    memo = world.run(widening(world, 100), at("recreate cut-over", lambda: world.sql(change)))
    assert (memo["verified"], memo["followed"]) == ("100", "4")
