"""The conformance suite that any backend must pass: scenarios as data, and what runs them.

A backend's tests bring a `Harness` and run `SCENARIOS` through `run_scenario`. What an engine cannot do
is named in a table of exceptions in those tests, each with the finding that says so.
"""

from instar.testing.runner import NonConformance, NotKept, Refused, run_scenario
from instar.testing.scenario import Harness, Said, Scenario, emptied
from instar.testing.scenarios import SCENARIOS
from instar.testing.scenarios.extremes import DEEP_EXTREMES

__all__ = [
    "DEEP_EXTREMES",
    "SCENARIOS",
    "Harness",
    "NonConformance",
    "NotKept",
    "Refused",
    "Said",
    "Scenario",
    "emptied",
    "run_scenario",
]
