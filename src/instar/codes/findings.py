"""Codes of findings: F1xx to F7xx."""

from __future__ import annotations

from instar.codes.doc import CodeDoc

FINDINGS: dict[str, CodeDoc] = {
    "F101": CodeDoc(
        "A NOT NULL column without a value for the rows that exist",
        "The new column may not be NULL, the table has rows, and nothing says what they get.",
        "Add a '_default' expression to the column in the yml; it fills the existing rows and leaves"
        " no lasting default behind. Or let the column be nullable.",
    ),
    "F102": CodeDoc(
        "A live column is not declared",
        "The table has a column that its manifest does not name. It stays, with its values.",
        "Declare it, or drop it with --column-conflict drop (asks first). If it was renamed, say"
        " `renamed_from` at the new column.",
    ),
    "F103": CodeDoc(
        "A live key, constraint or layout is not declared",
        "The table has a primary key, a constraint, clustering or partitioning that its manifest does"
        " not name. It stays.",
        "Declare it, or remove it with --column-conflict drop.",
    ),
    "F104": CodeDoc(
        "No meaningful way from the old type to the new one",
        "Values of the old type say nothing in the new one (a boolean as a date), so no cast is tried.",
        "Say how with a '_using' expression over the old row, or add a new column beside the old one.",
    ),
    "F105": CodeDoc(
        "A drop and an add that look like a rename",
        "A live column is not declared and one of the same type is new beside it. Instar never guesses: unless it"
        " is said, the new column begins without the old values.",
        "If it is a rename, write `renamed_from: OLD_NAME` at the new column.",
    ),
    "F106": CodeDoc(
        "Something else has the table's name",
        "A view or another object lives under the name that the manifest gives to a table.",
        "Give the table another name, or remove what is there.",
    ),
    "F107": CodeDoc(
        "A declared rename whose two names are both live",
        "The manifest says that a column was renamed from another, but the table has both, so it cannot"
        " be told whose values count.",
        "Bring the values together and drop one of the two, or remove `renamed_from`.",
    ),
    "F108": CodeDoc(
        "Two columns would have one name",
        "A column is added or renamed to a name that another column still has, because that one is not"
        " dropped under this policy.",
        "Drop the old one with --column-conflict drop, or choose another name.",
    ),
    "F109": CodeDoc(
        "A declared rename whose old name is not live",
        "The manifest says that a column was renamed from another, but the table has neither name, and it"
        " has a column that nobody declares: most likely the old name is mistyped. The new column would"
        " begin without the old values. It is an error where a column beside it would be dropped.",
        "Name the live column in `renamed_from`, or remove `renamed_from` if the column is new.",
    ),
    "F110": CodeDoc(
        "An expression that is not run",
        "A '_using' expression gives a new column its values, or an old one the values of another type."
        " This column is only renamed: its values stay as they are.",
        "Remove '_using'; or leave `renamed_from` out, and the column is a new one with computed values.",
    ),
    # --- F2xx values in the rows ---
    "F201": CodeDoc(
        "Values would be lost or changed by the new type",
        "Every row was looked at before anything runs: some hold values that do not fit the new type"
        " or would come back different. The finding counts them and shows the first.",
        "Mend the rows, choose a wider type, or say how with a '_using' expression.",
    ),
    "F202": CodeDoc(
        "An expression gives no value of the column's type",
        "A '_default' or '_using' expression was run over the rows and gave text that is no number, a"
        " value out of range, a fraction for a whole number, or the like.",
        "Mend the expression; the finding shows rows for which it fails.",
    ),
    "F203": CodeDoc(
        "A column is to be NOT NULL, but rows have NULL",
        "The rows were looked at as they will be after the change, and some have no value there.",
        "Mend the rows, or add a '_default' expression that fills them.",
    ),
    "F204": CodeDoc(
        "The rows could not be checked",
        "The engine refused the query that proves the change, most often because an expression in the"
        " manifest names something that the table does not have.",
        "Read the engine's words in the finding and mend the expression at its line.",
    ),
    "F205": CodeDoc(
        "An expression gives NULL where there was a value",
        "A '_using' expression was run over the rows: for some that have a value it gives none, as TRY_CAST"
        " does for what it cannot read. The finding counts them and shows the first. It does not block: the"
        " expression is your word, and where the change is a rewrite the old table is kept.",
        "Where NULL is not meant, say what such rows get, with COALESCE, say.",
    ),
    # --- F3xx keys and constraints ---
    "F301": CodeDoc(
        "Rows share a key",
        "A primary or unique key is declared, and several rows have the same values in it.",
        "Remove the duplicates first; Instar never picks one of them.",
    ),
    "F302": CodeDoc(
        "Rows fail a CHECK",
        "A declared CHECK is false for rows as they will be after the change. NULL passes, as in SQL.",
        "Mend the rows or the expression.",
    ),
    # --- F4xx order and change tracking ---
    "F401": CodeDoc(
        "A change-tracked table keeps its order",
        "Streams and dynamic tables read this table by its history, which a reorder or a swap would"
        " break. Its live column order is authoritative; new columns come last.",
        "Take over the column block that apply prints, or let --write-manifests save it.",
    ),
    "F402": CodeDoc(
        "The declared order differs from the live one",
        "Only the order of the columns differs; nothing is done about it unless asked.",
        "Use --column-conflict reorder, or take the live order over into the yml.",
    ),
    "F403": CodeDoc(
        "A change-tracked table is never rewritten",
        "The change needs a copy of the table that is swapped in, and that would end the history which"
        " streams and dynamic tables read.",
        "Turn change tracking off first, or leave the change out.",
    ),
    # --- F5xx cost and what cannot be undone ---
    "F501": CodeDoc(
        "The change needs a rewrite of the table",
        "The engine has no statement for it, so the rows must be copied into a new table that is then"
        " swapped in. The plan says how many.",
        "Pass --allow-rewrite. The old table is kept until its drop is confirmed.",
    ),
    "F502": CodeDoc(
        "It cannot be undone",
        "After this there is no statement that leads back: dropped values, a raised protocol that older"
        " readers do not know, lost time travel.",
        "Be sure; apply asks before it does such a thing.",
    ),
    "F503": CodeDoc(
        "An earlier apply did not end",
        "The journal has an unfinished run for this table, or the work of a recreation that did not end is"
        " still beside it. It is finished or taken away before anything new is begun.",
        "Run `instar apply` or `instar recover`.",
    ),
    "F504": CodeDoc(
        "The table is gone, and a copy of it is there",
        "A rewrite was cut off between its two renames, and the journal that knew of it is lost. A plan"
        " that created the table anew would hide its rows.",
        "Run `instar recover` or `instar apply`: what is left is put back first.",
    ),
    "F505": CodeDoc(
        "A table has left its manifest",
        "Said by `instar drift` as SARIF: the live table is not what the manifest declares, or is missing.",
        "Take the change over into the manifest, or let `instar apply` lead the table back.",
    ),
    # --- F6xx what an engine cannot keep ---
    "F601": CodeDoc(
        "The engine cannot do or keep this",
        "The engine has neither a statement for the change nor a way to hold what is declared.",
        "What only stands in the way of a recreation, and the message names, can be taken off and put back"
        " afterwards. Else leave it out for this environment, or choose another format for the table.",
    ),
    "F602": CodeDoc(
        "A type is kept as another",
        "The engine has no such type, or does not check its limit; values are kept in a wider one.",
        "Nothing has to be done. Check limits in the pipeline if they matter.",
    ),
    "F603": CodeDoc(
        "A key or constraint is not enforced",
        "The format does not hold rows to keys, CHECKs or NOT NULL; it is at most written down.",
        "Check it in the pipeline, or choose a format that enforces it.",
    ),
    "F604": CodeDoc(
        "A setting has no effect in this format",
        "Defaults, generated columns or change tracking cannot be kept by this format.",
        "Remove it for this environment; `_default` still fills the rows that are there.",
    ),
    "F606": CodeDoc(
        "An expression cannot be read",
        "A default, a '_using', a '_default' or a CHECK is not one expression of the engine's SQL.",
        "Write exactly one SQL expression, in the dialect of the environment.",
    ),
    "F607": CodeDoc(
        "An expression gives something else each time",
        "A rewrite is verified by computing values again, and goes on after a crash: a '_using' may"
        " depend on neither chance nor the clock, a '_default' not on chance. A CHECK that depends on"
        " them would hold today and not tomorrow. On PostgreSQL a function counts as chance while it is declared"
        " VOLATILE, which it is unless its author said otherwise.",
        "Use an expression that depends on the row alone; for the moment of the migration, '_default'.",
    ),
    "F608": CodeDoc(
        "A privilege is missing",
        "PostgreSQL was asked whether the role of this connection may do what the plan says. It lets only"
        " the owner of a table (and members of its role) change it; a new table, a key and a recreation need"
        " CREATE on the schema; a recreation also touches the views and tables that hang on it.",
        "Connect as the owner, or grant what the message names.",
    ),
    # --- F7xx models ---
    "F701": CodeDoc(
        "A model's table must be recomputed",
        "The change cannot be made in the table without losing or guessing values, or the engine cannot"
        " make it in place: a column goes, a type gets narrower, a type has no migration.",
        "Pass --allow-full-refresh to recompute the table from its query (for a removed column alone,"
        " --allow-column-removal drops just that), or change the query so that the type stays.",
    ),
    "F702": CodeDoc(
        "A model does not compile",
        "The engine's analyser was asked about the tables as they will be after this plan, and does not"
        " accept the query. Where a change of this plan took away what it names, that is said.",
        "Change the query together with what it reads.",
    ),
    "F703": CodeDoc(
        "A model cannot be analysed",
        "A model that it reads does not compile.",
        "Mend that model first.",
    ),
    "F704": CodeDoc(
        "A column that goes is read elsewhere",
        "Models or views that the message names read the column; they break or lose it.",
        "Change the readers first, or keep the column.",
    ),
    "F705": CodeDoc(
        "What a change reaches",
        "The columns downstream that are computed from the changed one, through views, models and"
        " manifests to the last table; then the tables whose rows it decides, by a filter, a join or a group.",
        "Look at them; nothing need be done.",
    ),
    "F706": CodeDoc(
        "A table or view that no model has made",
        "Something with rows (or a view) stands under the name of a model, and the state store does not"
        " know that Instar made it for one: somebody else's, or the state store was lost.",
        "Give the model another name, or bring the state store back. --allow-full-refresh adopts it: a"
        " table is computed from the query, and on DuckDB the old one is kept as name__instar_old_<n>.",
    ),
    "F707": CodeDoc(
        "A model reads one that is not there yet",
        "A model was selected without a model that it reads, and that one was never built.",
        "Select it too: `--select +name` takes everything upstream.",
    ),
    "F708": CodeDoc(
        "A model's table whose file is gone",
        "The state store knows a table or a view that was made for a model, it is still there, and no file"
        " in the project makes it any more: the file was removed or renamed. No run builds it again.",
        "Drop it by hand if nobody needs it; Instar never does. `instar import` keeps a table as a"
        " declared one.",
    ),
    "F709": CodeDoc(
        "A model that this environment leaves out",
        "A Python model runs on Spark only. On another engine it is left out, and so is every model that is"
        " made of it; the others are planned and built as ever.",
        "Build it in a Spark environment, or write the Python model as SQL.",
    ),
}
