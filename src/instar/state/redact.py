"""Secrets out of text before it is kept: passwords in URLs, tokens and keys in settings."""

from __future__ import annotations

import re

_IN_URL = re.compile(r"(?<=://)([^/\s:@'\"]*):([^/\s@'\"]+)@")
_IN_SETTING = re.compile(
    r"(?i)\b((?:[\w.-]*[_.-])?(?:password|passwd|pwd|token|secret|api_?key|access_?key|private_?key))"
    r"(\s*(?:=|:|\s)\s*)"
    r"('[^']*'|\"[^\"]*\"|[^\s;,&)]+)"
)


def redacted(text: str) -> str:
    """The text with every password, token or key in it replaced by `***`."""
    text = _IN_URL.sub(r"\1:***@", text)
    return _IN_SETTING.sub(r"\1\2***", text)
