"""Names that try to break out: quotes, dots, backticks, blanks, other scripts, reserved words, marks of SQL."""

from __future__ import annotations

from hypothesis import strategies as st

ODD_NAMES = (
    "a", "b", "Order", "select", "NULL", "table", "key", "value", "element", "struct", "rowid",
    "a b", " ", " lead", "trail ", "x.y", ".", "`q`", "`", 'w"z', '"', '""', "it's", "''", "'",
    "ünï", "É", "日本", "😀", "e\u0301", "ß", "\u200b", "\\", "\\'", "%s", "%", "{0}", "{", "$1",
    "$$", "?", ":x", "@v", "#", "a;b", "--", "/*", "*/", "*", "(", ")", ",", "=", "[0]", "1", "1a",
    "-1", "_", "a\nb", "a\tb", "a\rb", "<x>", "zq0q", "instar_x1", "x" * 60,
)  # fmt: skip


def odd_names(longest: int = 60, without: str = "") -> st.SearchStrategy[str]:
    """`without`: characters that the engine has in no name."""
    letters = [c for c in "aB1_ .`\"'\\%{}$?:;-/*(),=[]\n\té日😀" if c not in without]
    known = [n for n in ODD_NAMES if len(n.encode()) <= longest and not set(n) & set(without)]
    return st.sampled_from(known) | st.text(letters, min_size=1, max_size=5)
