"""Where words go: the document to stdout, everything else to stderr; colour, ASCII, closed pipes."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TextIO


class Color(Enum):
    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class LogFormat(Enum):
    TEXT = "text"
    JSON = "json"


_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}

# What people without UTF-8 read instead; anything else outside ASCII is escaped.
_ASCII = str.maketrans(
    {"→": "->", "…": "...", "—": "--", "–": "-", "·": "-", "│": "|", "─": "-", "┼": "+", "✓": "ok"}
    | {"✗": "x", "🤑": "$$$", "“": '"', "”": '"', "’": "'", "≥": ">=", "≤": "<=", "×": "x"}
)


@dataclass(frozen=True, slots=True)
class Paint:
    """Styles as an addition: without colour every text stays as it is."""

    on: bool

    def __call__(self, style: str, text: str) -> str:
        if not self.on or not style or not text:
            return text
        codes = ";".join(_CODES[word] for word in style.split())
        return f"\x1b[{codes}m{text}\x1b[0m"


PLAIN = Paint(on=False)


class Screen:
    """One command's two streams. `quiet` 1 hides notes, 2 also the document; errors always show."""

    def __init__(
        self,
        color: Color = Color.AUTO,
        quiet: int = 0,
        verbose: int = 0,
        log_format: LogFormat = LogFormat.TEXT,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.quiet = quiet
        self.verbose = verbose
        self.log_format = log_format
        self.format = "text"
        self.answered = False
        env = os.environ if environment is None else environment
        self.out = Paint(wants_color(color, sys.stdout, env))
        self.err = Paint(wants_color(color, sys.stderr, env))
        self._unicode = not _speaks_ascii(env)

    def document(self, text: str) -> None:
        """The answer itself."""
        self.answered = True
        if self.quiet < 2:
            self._write(sys.stdout, text)

    def json(self, value: object) -> None:
        """The answer as one JSON document; escapes instead of what the reader's locale lacks."""
        plain = not (self._unicode and _is_utf8(sys.stdout))
        self.document(json.dumps(value, indent=2, ensure_ascii=plain))

    def note(self, text: str) -> None:
        """Something worth knowing on the way."""
        if self.log_format is LogFormat.JSON:
            self.event("note", message=text)
        elif not self.quiet:
            self._write(sys.stderr, self.err("dim", text))

    def warn(self, text: str) -> None:
        if self.log_format is LogFormat.JSON:
            self.event("warning", message=text)
        else:
            self._write(sys.stderr, self.err("yellow", "warning: ") + text)

    def problem(self, text: str) -> None:
        """An error, already in words."""
        self._write(sys.stderr, text)

    def event(self, kind: str, **values: object) -> None:
        """One line of the log for machines; silent unless it was asked for."""
        if self.log_format is LogFormat.JSON:
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            line = {"type": kind, "ts": stamp, **values}
            self._write(sys.stderr, json.dumps(line, ensure_ascii=True))

    @property
    def live(self) -> bool:
        """Bars may be drawn: a person watches and nothing parses what stderr says."""
        return sys.stderr.isatty() and not self.quiet and self.log_format is LogFormat.TEXT

    def _write(self, stream: TextIO, text: str) -> None:
        said = text if self._unicode and _is_utf8(stream) else to_ascii(text)
        try:
            stream.write(said.rstrip("\n") + "\n")
            stream.flush()
        except BrokenPipeError:
            discard(stream)


def to_ascii(text: str) -> str:
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")


def discard(stream: TextIO) -> None:
    """Nobody reads this stream any more: go on with the work, and write to nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def wants_color(color: Color, stream: TextIO, env: Mapping[str, str]) -> bool:
    """--color first, then NO_COLOR and FORCE_COLOR, then whether a terminal reads."""
    match color:
        case Color.ALWAYS:
            return True
        case Color.NEVER:
            return False
        case Color.AUTO:
            if env.get("NO_COLOR"):
                return False
            if env.get("FORCE_COLOR", "0") not in ("", "0"):
                return True
            return stream.isatty() and env.get("TERM") != "dumb"


def _is_utf8(stream: TextIO) -> bool:
    return (stream.encoding or "").lower().replace("-", "").replace("_", "") == "utf8"


def _speaks_ascii(env: Mapping[str, str]) -> bool:
    """Whether the locale says that its reader knows no UTF-8; Python itself no longer asks."""
    said = next((env[k] for k in ("LC_ALL", "LC_CTYPE", "LANG") if env.get(k)), "")
    return bool(said) and "utf8" not in said.lower().replace("-", "")


_current: Screen | None = None


def use(screen: Screen, format_: Enum | None = None) -> Screen:
    """Remember the command's screen, so that an error is shown the way the user asked for."""
    global _current
    _current = screen
    if format_ is not None:
        screen.format = str(format_.value)
    return screen


def current() -> Screen:
    return _current or Screen()
