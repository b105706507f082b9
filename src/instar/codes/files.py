"""Codes of errors in the files of a project: E1xx."""

from __future__ import annotations

from instar.codes.doc import CodeDoc

FILES: dict[str, CodeDoc] = {
    # --- E1xx files of the project ---
    "E101": CodeDoc(
        "The file is not valid YAML",
        "The line that is named cannot be read: a tab, a bracket that is never closed, a value with"
        " ': ' or a backtick at its beginning that stands without quotes.",
        "Correct the line; put quotes around values that hold marks of YAML.",
    ),
    "E102": CodeDoc(
        "The file is empty",
        "There is nothing in it but, perhaps, comments.",
        "Fill it or remove it.",
    ),
    "E103": CodeDoc(
        "Unknown key",
        "A key that Instar does not know is probably a slip of the pen, so it is never ignored.",
        "Take the key that the hint proposes; `instar schema` gives editors the list.",
    ),
    "E104": CodeDoc(
        "Wrong kind of value",
        "The key takes another kind of value: a list, a mapping, a text, true or false.",
        "Write what the message asks for.",
    ),
    "E105": CodeDoc(
        "A key or name stands twice",
        "YAML would silently keep one of the two.",
        "Remove one.",
    ),
    "E106": CodeDoc(
        "A required key is missing or empty",
        "Without it the file says nothing that could be carried out.",
        "Add the key that is named.",
    ),
    "E107": CodeDoc(
        "An environment variable is not set",
        "instar.yml takes a value from `${NAME}`, and there is no variable of that name, or it is empty"
        " (a CI secret that nobody has set is): an empty setting would be taken for its default.",
        "Set the variable, or leave the key out. A plain `${` is written `$${`.",
    ),
    "E108": CodeDoc(
        "No project here",
        "No instar.yml was found in the folder or any above it.",
        "Run `instar init`, or name the project's folder.",
    ),
    "E109": CodeDoc(
        "No such engine",
        "The environment's `type` is not an engine of this Instar, or not yet.",
        "Use one of the engines that the hint lists.",
    ),
    "E110": CodeDoc(
        "No such environment",
        "The name is not one of `environments` in instar.yml.",
        "Take one that the hint names, or add it.",
    ),
    "E111": CodeDoc(
        "Not one of the choices",
        "The key takes one of a few words or numbers.",
        "Take one that the message names.",
    ),
    "E112": CodeDoc(
        "Settings that do not go together",
        "Two keys exclude each other, or exactly one of several is needed.",
        "Keep one.",
    ),
    "E113": CodeDoc(
        "The file cannot be read",
        "It is not text in UTF-8, or the system refuses to open it.",
        "Save it as UTF-8; check its permissions.",
    ),
    "E114": CodeDoc(
        "The environment does not have this format",
        "A table names a format that its engine cannot store.",
        "Remove `format`, or choose an environment that has it.",
    ),
    "E115": CodeDoc(
        "No engine of this type",
        "The registry of engines has no such type.",
        "Use one of the types that the message lists.",
    ),
    "E116": CodeDoc(
        "No such table",
        "A table or pattern on the command line matches nothing that the project or the engine has.",
        "Names are `table`, `schema.table` or patterns such as `sales.*`.",
    ),
    "E117": CodeDoc(
        "There is no such side to compare",
        "`diff` compares environments (`prod`), recorded versions (`prod@3`) and manifest files.",
        "Name one of these; `instar history` shows what was recorded.",
    ),
    "E120": CodeDoc(
        "The type cannot be read",
        "The SQL type text breaks off or goes wrong at the character that is named.",
        "Write Spark's (`STRUCT<a INT>`) or DuckDB's (`STRUCT(a INTEGER)`) spelling.",
    ),
    "E121": CodeDoc(
        "Unknown type",
        "The word is not a type that Instar knows.",
        "Take the proposed one; `NATIVE('…')` hands a type to the engine as it is.",
    ),
    "E122": CodeDoc(
        "Not exactly one SQL expression",
        "A default, helper or check holds nothing, several statements, a comment, or a lone word"
        " that SQL would take for a column.",
        "Write one expression without a semicolon; a text is quoted twice: \"'OPEN'\".",
    ),
    "E130": CodeDoc(
        "Two manifests for one table",
        "Both files want to decide about the same table.",
        "Keep one.",
    ),
    "E131": CodeDoc(
        "A column stands twice",
        "Column names are the same when they differ only in upper and lower case.",
        "Rename or remove one.",
    ),
    "E132": CodeDoc(
        "An impossible rename",
        "Two columns cannot come from one, nothing comes from itself, renames do not go round in a ring"
        " (nobody could tell whether they were done), and an array's element or a map's key and value"
        " have no names that could change.",
        "Keep one `renamed_from`; another column can take the value with `_using`.",
    ),
    "E133": CodeDoc(
        "A key names no column",
        "A primary key, clustering, partitioning or unique constraint names a column that the"
        " manifest does not declare.",
        "Declare the column or correct the name.",
    ),
    "E134": CodeDoc(
        "A path under `fields` leads nowhere",
        "The column's type has no such field; elements of arrays are reached by `element`, parts of"
        " maps by `key` and `value`.",
        "Correct the path; put names with dots into backticks.",
    ),
    "E135": CodeDoc(
        "A nullable column in the primary key",
        "Columns of a primary key are NOT NULL.",
        "Remove `nullable: true` or the column from `primary_key`.",
    ),
    "E136": CodeDoc(
        "Not the name of a table",
        "A table is named `table` or `schema.table`.",
        "Put a name that holds a dot into backticks.",
    ),
    "E137": CodeDoc(
        "The name is one that Instar gives itself",
        "Names with `__instar_` in them are those of copies that a rewrite makes and keeps:"
        " `instar cleanup` would take the table for one of them and drop it.",
        "Choose another name.",
    ),
    "E140": CodeDoc(
        "The manifest cannot be rewritten",
        "It lies outside the project, is not a manifest of that table, or shares its columns by"
        " a YAML alias.",
        "Paste the corrected column block by hand.",
    ),
    "E141": CodeDoc(
        "A file is there already",
        "`instar init` never overwrites.",
        "Choose an empty folder, or remove the file that is named.",
    ),
    "E142": CodeDoc(
        "A file cannot be written",
        "`instar init` or `instar import` met a folder that is a file, that may not be written, or a full"
        " disk.",
        "Check the folder and its permissions, or choose another one.",
    ),
    # --- E15x models ---
    "E150": CodeDoc(
        "A model's frontmatter is broken",
        "Between its two lines of `---` there must be YAML keys and values, and the second line of"
        " dashes must be there.",
        "Correct the line that is shown.",
    ),
    "E151": CodeDoc(
        "A model's SQL cannot be read",
        "The query is parsed in the dialect of the environment before anything runs.",
        "Correct the place that is shown.",
    ),
    "E152": CodeDoc(
        "A model is not exactly one SELECT",
        "A model is one query; its result becomes the view or the table.",
        "Keep one SELECT; put intermediate results into a WITH or a model of their own.",
    ),
    "E153": CodeDoc(
        "Models read each other in a ring",
        "A model cannot be built before it is built: neither directly nor through others.",
        "Break the ring at the place that is shown.",
    ),
    "E154": CodeDoc(
        "A reference names nothing",
        "ref('name') takes the name of a model or of a declared table.",
        "Correct the name; a table outside the project is named plainly, without ref().",
    ),
    "E155": CodeDoc(
        "Two models for one table",
        "A model's file name is the name of its table, whatever its folder and its case.",
        "Rename one of the two files.",
    ),
    "E156": CodeDoc(
        "A model and a manifest for one table",
        "Only one of them can say what the table looks like.",
        "Rename the model, or remove the manifest.",
    ),
    "E157": CodeDoc(
        "A query returns two columns of one name",
        "A table cannot have them both.",
        "Give one of them another name with AS.",
    ),
    "E158": CodeDoc(
        "A default or backfill cannot be used",
        "It is not exactly one SQL expression, the engine does not understand it, or the engine would"
        " read it differently from the dialect it was written in.",
        "Write one expression that means the same on the engine.",
    ),
    "E159": CodeDoc(
        "A default of the wrong type",
        "The value does not fit the type that the query gives the column.",
        "Change the default, or cast the column in the query.",
    ),
    "E160": CodeDoc(
        "An incremental model does not say how",
        "Exactly one of unique_key, partition_column and event_time_column is needed, and the query must"
        " return the columns that it names. An event time is a DATE or a TIMESTAMP; a DATE has no hours.",
        "Name the column, or return it from the query; cast an event time there.",
    ),
    "E161": CodeDoc(
        "Not available here",
        "The materialization, a Python model, or any model is not available on this kind of environment (yet)."
        " Models run on Spark and DuckDB, Python models on Spark; elsewhere a plan has declared tables only.",
        "Choose another environment or materialization.",
    ),
    "E162": CodeDoc(
        "Settings for a model that does not exist",
        "`models:` in instar.yml names a model without a file under models/.",
        "Correct the name, or remove the entry.",
    ),
    "E163": CodeDoc(
        "A Python model cannot be used",
        "It must be valid Python with a function model(spark, refs) that returns a DataFrame.",
        "Correct the place that is shown.",
    ),
    "E164": CodeDoc(
        "Settings for a column that the query does not return",
        "`columns` of a model names a column that is not among the query's output.",
        "Correct the name, or return the column.",
    ),
    "E165": CodeDoc(
        "There are no models",
        "The command is about models, and there is no file under models/.",
        "Write one, such as models/daily.sql with a SELECT in it.",
    ),
}
