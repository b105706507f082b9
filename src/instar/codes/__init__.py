"""The table of stable codes: what each error and finding means and what to do about it.

E1xx files of the project · E2xx environment and engine · E3xx state, lock, journal ·
E4xx plan and apply · F1xx columns · F2xx values in the rows · F3xx keys and constraints ·
F4xx order and change tracking · F5xx cost and what cannot be undone · F6xx what an engine cannot keep ·
F7xx models.
"""

from __future__ import annotations

from instar.codes.doc import CodeDoc
from instar.codes.errors import ERRORS
from instar.codes.files import FILES
from instar.codes.findings import FINDINGS

__all__ = ["CODES", "CodeDoc"]

CODES: dict[str, CodeDoc] = {**FILES, **ERRORS, **FINDINGS}
