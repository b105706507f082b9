"""The table of stable codes: what each error and finding means and what to do about it.

E1xx files of the project · E2xx environment and engine · E3xx state, lock, journal ·
E4xx plan and apply · F1xx columns · F2xx values in the rows · F3xx keys and constraints ·
F4xx order and change tracking · F5xx cost and what cannot be undone · F6xx what an engine cannot keep.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CodeDoc:
    """One row of `instar explain`: a title, why it happens, what to do."""

    title: str
    why: str
    fix: str


CODES: dict[str, CodeDoc] = {
    # --- E2xx environment and engine ---
    "E201": CodeDoc(
        "Java is missing or too old",
        "Spark runs on Java 17 or 21, and no such `java` was found.",
        "Install a JDK 17 or 21 (Debian: openjdk-17-jre-headless) or set JAVA_HOME.",
    ),
}
