"""The table of commands: name, where it lives, one line, examples. Light, so that help is quick."""

from __future__ import annotations

from dataclasses import dataclass

GROUPS = ("Begin", "Change tables", "Look", "Help and machinery")

EXIT_CODES = {
    0: "done, or nothing to do",
    1: "an error",
    2: "the command line is wrong",
    3: "blocked by a finding, or a sealed plan no longer fits; nothing was touched",
    4: "a word is needed and nobody could be asked: rerun with --yes",
    5: "changes are pending (with --detailed-exit-code), or tables have drifted (drift)",
    130: "interrupted; the journal knows where",
}


@dataclass(frozen=True, slots=True)
class Entry:
    module: str
    function: str
    group: str
    summary: str
    examples: tuple[str, ...] = ()


_BEGIN, _CHANGE, _LOOK, _HELP = GROUPS

COMMANDS: dict[str, Entry] = {
    "init": Entry(
        "project",
        "init",
        _BEGIN,
        "Make a project whose first plan works",
        ("instar init", "instar init shop --kind duckdb"),
    ),
    "doctor": Entry(
        "project",
        "doctor",
        _BEGIN,
        "Check what a project needs: files, Java, engine, state",
        ("instar doctor --env prod",),
    ),
    "import": Entry(
        "project",
        "import_",
        _BEGIN,
        "Write manifests for live tables that have none",
        ("instar import --env prod --dry-run", "instar import 'sales.*'"),
    ),
    "validate": Entry(
        "project",
        "validate",
        _CHANGE,
        "Read every file and say what is wrong; touches nothing",
        ("instar validate", "instar validate --format sarif > findings.sarif"),
    ),
    "plan": Entry(
        "plan",
        "plan",
        _CHANGE,
        "Say what would happen, what it costs and what stands in the way",
        (
            "instar plan --env prod",
            "instar plan orders -v",
            "instar plan --out release.plan && instar apply release.plan",
            "instar plan --format markdown > comment.md",
        ),
    ),
    "apply": Entry(
        "apply",
        "apply",
        _CHANGE,
        "Do it: journalled, resumable, checked afterwards",
        (
            "instar apply --env prod",
            "instar apply release.plan --yes",
            "instar apply orders --column-conflict drop",
        ),
    ),
    "run": Entry(
        "run",
        "run",
        _CHANGE,
        "Evolve the tables of models and build them in graph order",
        (
            "instar run",
            "instar run --select +daily --dry-run",
            "instar run --select state:changed+",
            "instar run --start 2024-01-01 --end 2024-02-01",
            "instar run --resume",
        ),
    ),
    "recover": Entry(
        "apply",
        "recover",
        _CHANGE,
        "Finish what an interrupted apply left behind",
        ("instar recover --env prod",),
    ),
    "revert": Entry(
        "lifecycle",
        "revert",
        _CHANGE,
        "Put the old copy back that a rewrite has kept",
        ("instar revert orders --env prod",),
    ),
    "cleanup": Entry(
        "lifecycle",
        "cleanup",
        _CHANGE,
        "Drop the old copies that rewrites have kept",
        ("instar cleanup --dry-run", "instar cleanup orders --env prod", "instar cleanup --yes"),
    ),
    "lineage": Entry(
        "lineage",
        "lineage",
        _LOOK,
        "Show where a column of a model comes from and where it goes",
        (
            "instar lineage daily.total",
            "instar lineage orders.amount --format mermaid",
        ),
    ),
    "drift": Entry(
        "plan",
        "drift",
        _LOOK,
        "Show where live tables have left their manifests",
        ("instar drift --env prod", "instar drift --format markdown"),
    ),
    "diff": Entry(
        "look",
        "diff",
        _LOOK,
        "Compare environments, recorded versions or manifest files",
        ("instar diff dev prod", "instar diff prod@3 prod", "instar diff prod tables/orders.yml"),
    ),
    "history": Entry(
        "look",
        "history",
        _LOOK,
        "Show what was applied, when and how it ended",
        ("instar history orders --env prod",),
    ),
    "matrix": Entry(
        "look",
        "matrix",
        _LOOK,
        "Show what each engine does for each kind of change",
        ("instar matrix", "instar matrix --format markdown"),
    ),
    "explain": Entry(
        "explain",
        "explain",
        _HELP,
        "Explain an error or a finding by its code",
        ("instar explain F201", "instar explain --all"),
    ),
    "schema": Entry(
        "explain",
        "schema",
        _HELP,
        "Print the JSON Schema of instar.yml or of a manifest, for editors",
        ("instar schema manifest > manifest.schema.json",),
    ),
    "completion": Entry(
        "explain",
        "completion",
        _HELP,
        "Print the completion script for a shell",
        ('eval "$(instar completion bash)"', "instar completion fish | source"),
    ),
    "server": Entry(
        "server",
        "app",
        _HELP,
        "See or stop the project's local Spark server",
    ),
    "version": Entry("explain", "version", _HELP, "Print the version"),
}
