"""Values that must not show: printing, logging or comparing a message never reveals them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MASK = "*****"


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A text that prints as `*****`; `reveal` is for the driver that needs it."""

    _text: str

    def reveal(self) -> str:
        return self._text

    def __str__(self) -> str:
        return MASK

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)


class Masked(Mapping[str, str]):
    """Settings for an engine, of which only the keys print."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __getitem__(self, key: str) -> str:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{key!r}: {MASK}" for key in self._values) + "}"
