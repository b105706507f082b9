"""Secrets out of text before it is kept: passwords in URLs, tokens and keys in settings."""

from __future__ import annotations

import re

_IN_URL = re.compile(r"(?<=://)([^/\s:@'\"]*):([^/\s@'\"]+)@")
_WORDS = r"password|passwd|pwd|token|secret|(?:access|secret|private|api|account)[._-]?key"
_IN_SETTING = re.compile(
    rf"(?i)((?:{_WORDS})['\"`]?)(\s*[=:]\s*|\s+(?=['\"]))('[^']*'|\"[^\"]*\"|[^\s;,&)]+)"
)


def redacted(text: str) -> str:
    """The text with every password, token or key in it replaced by `***`."""
    text = _IN_URL.sub(r"\1:***@", text)
    return _IN_SETTING.sub(r"\1\2***", text)
