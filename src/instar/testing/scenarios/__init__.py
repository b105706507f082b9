"""All scenarios, by topic."""

from collections import Counter

from instar.testing.scenario import Scenario
from instar.testing.scenarios.adding import ADDING
from instar.testing.scenarios.computing import COMPUTING
from instar.testing.scenarios.extremes import EXTREMES
from instar.testing.scenarios.moving import MOVING
from instar.testing.scenarios.naming import NAMING
from instar.testing.scenarios.requiring import REQUIRING
from instar.testing.scenarios.retyping import RETYPING

SCENARIOS: tuple[Scenario, ...] = (
    *ADDING,
    *EXTREMES,
    *MOVING,
    *RETYPING,
    *REQUIRING,
    *COMPUTING,
    *NAMING,
)

_TWICE = [name for name, n in Counter(s.name for s in SCENARIOS).items() if n > 1]
assert not _TWICE, f"two scenarios are called {_TWICE}"
