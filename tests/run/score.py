"""How many kills there were, and after how many of them everything was right."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Score:
    title: str
    right: int = 0
    wrong: list[str] = field(default_factory=list)

    def count(self, point: str, problem: str) -> None:
        if problem:
            self.wrong.append(f"{point}: {problem}")
        else:
            self.right += 1

    def __str__(self) -> str:
        return f"kill: {self.right}/{self.right + len(self.wrong)} {self.title}"
