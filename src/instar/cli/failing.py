"""An error as the document that a machine has asked for: stdout is never left empty."""

from __future__ import annotations

import json
from typing import Any

from instar.errors import InstarError


def failure(error: InstarError, format_: str) -> str | None:
    """The document; None where people read, who find the error on stderr."""
    match format_:
        case "json":
            return json.dumps(failure_document(error), indent=2)
        case "sarif":
            from instar.cli.sarif import findings_sarif
            from instar.core.findings import Finding, Severity

            finding = Finding(error.code, Severity.ERROR, error.message, error.hint)
            return findings_sarif([finding], error.where)
        case "markdown":
            return _markdown(error)
        case _:
            return None


def failure_document(error: InstarError) -> dict[str, Any]:
    from instar.core.document import VERSION, place_document

    told = {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "where": place_document(error.where),
        "exit_code": error.exit_code,
    }
    return {"version": VERSION, "error": told}


def _markdown(error: InstarError) -> str:
    from instar.cli.markdown import escape

    place = f" (`{escape(str(error.where))}`)" if error.where else ""
    lines = [f"🛑 **{error.code}** {escape(error.message)}{place}"]
    return "\n".join([*lines, *(["", f"> {escape(error.hint)}"] if error.hint else [])])
