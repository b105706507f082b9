"""The table of stable codes: what each error and finding means and what to do about it.

E1xx files of the project · E2xx environment and engine · E3xx state, lock, journal ·
E4xx plan and apply · F1xx columns · F2xx values in the rows · F3xx keys and constraints ·
F4xx order and change tracking · F5xx cost and what cannot be undone · F6xx what an engine cannot keep ·
F7xx models.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CodeDoc:
    """One row of `instar explain`: a title, why it happens, what to do."""

    title: str
    why: str
    fix: str


CODES: dict[str, CodeDoc] = {
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
        "instar.yml takes a value from `${NAME}`, and there is no variable of that name.",
        "Set the variable. A plain `${` is written `$${`.",
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
        "No manifest for the table",
        "A table or pattern on the command line matches none of the manifests.",
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
        "Two columns cannot come from one, nothing comes from itself, and an array's element or a"
        " map's key and value have no names that could change.",
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
        " return the columns that it names.",
        "Name the column, or return it from the query.",
    ),
    "E161": CodeDoc(
        "Not available here",
        "The materialization, or a Python model, is not available on this kind of environment (yet).",
        "Choose another one.",
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
    # --- E2xx environment and engine ---
    "E201": CodeDoc(
        "Java is missing or too old",
        "Spark runs on Java 17 or 21, and no such `java` was found.",
        "Install a JDK 17 or 21 (Debian: openjdk-17-jre-headless) or set JAVA_HOME.",
    ),
    "E202": CodeDoc(
        "Spark cannot be reached",
        "Nothing answers at the environment's `connect_url` or `master`, or the address is malformed.",
        "Check the address and that the server runs. With a token the client speaks TLS unless the"
        " host is written `localhost`.",
    ),
    "E203": CodeDoc(
        "The Spark server refused the token",
        "The server asks for a token, and none or another one was given.",
        "Put `;token=${NAME}` into `connect_url`, or set SPARK_CONNECT_AUTHENTICATE_TOKEN.",
    ),
    "E204": CodeDoc(
        "The local Spark server did not start",
        "The embedded Spark ended, or did not answer in time, while it was being started.",
        "Read the log that the message names; too little memory and a folder that cannot be written"
        " are the usual reasons.",
    ),
    "E205": CodeDoc(
        "The local Spark server has other settings and is in use",
        "A project has one local server; another command still uses the one that was started with"
        " a different `conf` or other jars.",
        "Wait for the other command to end; the server is then restarted with the new settings.",
    ),
    "E206": CodeDoc(
        "The engine jars are missing",
        "Delta and Iceberg need jars that are fetched once, and fetching failed or the named folder"
        " lacks some.",
        "Set INSTAR_MAVEN_REPOSITORY to a reachable Maven mirror, or INSTAR_JARS to a folder with"
        " the jars.",
    ),
    "E207": CodeDoc(
        "Two kinds of Spark in one process",
        "PySpark holds either sessions over Spark Connect or a classic one on a `master`, not both.",
        "Close the session of the other environment first, or use a process for each.",
    ),
    "E210": CodeDoc(
        "Spark refused a statement",
        "The statement is wrong, or failed while it ran; the message begins with Spark's own"
        " error condition.",
        "Look the condition up in Spark's documentation; nothing of the statement was kept unless"
        " the message says so.",
    ),
    "E211": CodeDoc(
        "The outcome of a statement is unknown",
        "The connection to Spark broke while the statement ran; it may have been committed.",
        "Run the command again: it looks at the table first and never repeats blindly.",
    ),
    "E212": CodeDoc(
        "A Delta table without its log",
        "The catalog names a Delta table, but no Delta log is in its folder: the files were removed, or"
        " the table was never finished.",
        "Drop the name from the catalog (DROP TABLE), or put the files back.",
    ),
    "E213": CodeDoc(
        "A rewrite left no commit",
        "Spark reported success, but the table's history does not show the commit of the rewrite.",
        "Look with `instar plan` what is live; nothing is repeated without a look.",
    ),
    "E214": CodeDoc(
        "A rewrite did not keep the rows",
        "The count or the checksum of the rows differs between the version before the rewrite and the"
        " one after it.",
        "The version before was restored unless others wrote in between; report it with the message.",
    ),
    "E220": CodeDoc(
        "DuckDB refused a statement",
        "The statement failed; its whole transaction was rolled back, so that nothing of the step is"
        " kept.",
        "Read DuckDB's own words in the message, mend the cause and run the command again.",
    ),
    "E221": CodeDoc(
        "Another connection wrote to the table",
        "DuckDB lets one transaction change a table at a time; the step was rolled back and no row"
        " of the other writer is lost.",
        "Run the command again once the other writer is done.",
    ),
    "E222": CodeDoc(
        "DuckDB does not understand a statement",
        "An expression of the manifest names a column or a function that is not there.",
        "Correct the expression that the message shows.",
    ),
    "E223": CodeDoc(
        "Stopped while DuckDB was at work",
        "The statement was interrupted and its transaction rolled back.",
        "Run the command again; it begins where it was.",
    ),
    "E224": CodeDoc(
        "A copied table differs from its source",
        "After a rewrite's copy the rows were counted and their content compared, and they differ;"
        " the transaction was rolled back.",
        "The table is as it was. Report it with the plan as JSON.",
    ),
    "E225": CodeDoc(
        "The database file is open in another process",
        "DuckDB lets one process write to a database file.",
        "Close the other program, or point the environment at another file.",
    ),
    "E226": CodeDoc(
        "The database file cannot be opened",
        "The path is wrong, not writable, no DuckDB database, or from a newer DuckDB.",
        "Check the path and the version that wrote the file.",
    ),
    "E230": CodeDoc(
        "The engine's driver is not installed",
        "Drivers of engines that most projects do not use are left out of the plain installation.",
        "Install it as the hint says, for example `pip install 'instar[snowflake]'`.",
    ),
    "E240": CodeDoc(
        "Snowflake refused a statement",
        "The message is Snowflake's own.",
        "Look at the statement with `instar plan -v`, and at the rights of the role.",
    ),
    "E241": CodeDoc(
        "Snowflake cannot be reached",
        "No connection could be made with the options of the environment.",
        "Look at account, user, role and warehouse, and where the secret comes from.",
    ),
    "E250": CodeDoc(
        "A table is in the way",
        "A rewrite builds its copy under a name of its own, and somebody else's table has it.",
        "Rename or drop the table that the message names, then try again.",
    ),
    "E251": CodeDoc(
        "PostgreSQL cannot be reached",
        "No connection could be made: the server is down, the address is wrong, or the user and password"
        " are not accepted.",
        "Look at `url`, or host, port, database and user, and where the password comes from.",
    ),
    "E252": CodeDoc(
        "A privilege is missing",
        "PostgreSQL lets only the owner of a table change it; a recreation also needs CREATE on its"
        " schema.",
        "Connect as the owner, or as a member of its role, and grant what the message names.",
    ),
    "E253": CodeDoc(
        "A lock was not granted",
        "Another transaction holds the table. Instar waits a few seconds and tries again some times, so"
        " that nobody queues behind it for long; then it gives up.",
        "End the transaction that holds it (pg_stat_activity, pg_locks), then run the command again.",
    ),
    "E254": CodeDoc(
        "PostgreSQL refused a statement",
        "The statement failed; its transaction was rolled back. The message holds the SQLSTATE and"
        " PostgreSQL's own words.",
        "Mend the cause and run the command again.",
    ),
    "E255": CodeDoc(
        "The PostgreSQL server is too old",
        "Proofs need functions that came with PostgreSQL 16.",
        "Upgrade the server.",
    ),
    "E256": CodeDoc(
        "A recreated table differs from its source",
        "Before the swap, counts and checksums of every chunk were compared, and some keys differ. The"
        " copy was dropped; the table is as it was.",
        "Report it with the plan as JSON.",
    ),
    "E257": CodeDoc(
        "The connection to PostgreSQL was lost",
        "The server went away while a statement ran; it may have been committed.",
        "Run the command again: it looks at the table first and never repeats blindly.",
    ),
    "E258": CodeDoc(
        "An earlier recreation has not ended",
        "The tables were swapped, but foreign keys may still wait for their validation.",
        "Run `instar recover`, which finishes it.",
    ),
    "E227": CodeDoc(
        "Rows came after the plan that it would lose",
        "The plan proved that every row survives; since then rows were written that would not. The"
        " step was rolled back.",
        "Plan again: the plan shows the rows.",
    ),
    "E260": CodeDoc(
        "The memory engine cannot evaluate an expression",
        "Its evaluator knows plain columns, arithmetic, comparison, AND / OR / NOT, CASE, CAST and a"
        " few text functions.",
        "Write the expression with those, or use another engine.",
    ),
    "E261": CodeDoc(
        "The memory engine refused a step",
        "A row breaks what the table promises, or the table is not there.",
        "Look at the rows that the message speaks of; nothing of the step was kept.",
    ),
    # --- E3xx state, lock, journal ---
    "E301": CodeDoc(
        "The state file is damaged or foreign",
        "The file that `state` points at is no state file of Instar, or can no longer be read.",
        "Point `state` at another file, or restore this one from a backup. Tables are not harmed.",
    ),
    "E302": CodeDoc(
        "The state file is newer than this Instar",
        "A newer Instar has written it, in a format that this one does not know.",
        "Upgrade Instar; everybody who shares the state file needs the same format.",
    ),
    "E303": CodeDoc(
        "The table is locked",
        "Another process is changing the same table; the message says which one, where and since when.",
        "Wait until it ends. The lock of a process that died is taken over: at once on the same"
        " machine, else when its lease of 60 s runs out.",
    ),
    "E304": CodeDoc(
        "A person must look at the table",
        "A run was cut off, and the live table is neither as before the step nor as after it, or both"
        " look the same. Instar does not guess.",
        "Bring the table to one of the two states by hand and run `instar recover`; as a last resort"
        " `instar recover --forget` drops the run, and the next plan starts from what is live.",
    ),
    "E305": CodeDoc(
        "The state file cannot be written",
        "Its folder does not exist and cannot be made, or permissions forbid writing.",
        "Mend the permissions, or point `state` in instar.yml at another place.",
    ),
    "E306": CodeDoc(
        "Writing the state file failed",
        "The disk is full or broken. What was journalled before is kept, and nothing else was begun.",
        "Free some space and run the command again; an unfinished run is resumed.",
    ),
    "E307": CodeDoc(
        "The state file is busy",
        "Another program has held a transaction open on it for longer than Instar waits.",
        "End that program (a database browser, a backup) and run the command again.",
    ),
    "E308": CodeDoc(
        "The lock was lost",
        "The lease ran out while this process was stopped (a sleeping laptop, a paused container), and"
        " another process took the table over.",
        "Look with `instar plan`, then run the command again.",
    ),
    "E309": CodeDoc(
        "An earlier run did not end",
        "The journal has an unfinished run for this table; a new one on top of it would be a guess.",
        "`instar apply` or `instar recover` finishes it first.",
    ),
    "E310": CodeDoc(
        "The run was ended by somebody else",
        "While this process worked, another one finished or forgot the same run.",
        "Look with `instar history` and `instar plan`, then run the command again.",
    ),
    "E311": CodeDoc(
        "`state` is no address of a state store",
        "Only `sqlite:///path` is available; the path is relative to the project unless it begins with"
        " another slash.",
        "Write `state: sqlite:///.instar/state.db` in instar.yml.",
    ),
    # --- E4xx plan and apply ---
    "E401": CodeDoc(
        "The table has moved since it was planned",
        "Between plan and apply somebody changed the live table; the message says what differs.",
        "Plan again and look at the new plan. Nothing was touched.",
    ),
    "E402": CodeDoc(
        "The table is not what the step promised",
        "The engine accepted the statement, but the table was looked at afterwards and is not as it"
        " should be; or somebody else changed it in the same moment.",
        "Look with `instar plan` what is left; report it if the engine accepts and does nothing.",
    ),
    "E403": CodeDoc(
        "A word is needed",
        "Some step destroys, rewrites or cannot be undone, and nobody was there to say yes.",
        "Answer the question, or pass --yes where nobody can be asked.",
    ),
    "E404": CodeDoc(
        "The sealed plan no longer fits",
        "A table, a manifest or the policy has moved since the plan was sealed.",
        "Look at `instar plan` again and seal a new one.",
    ),
    "E405": CodeDoc(
        "The plan is blocked",
        "A finding of severity error stands in the way. Nothing was touched.",
        "See the findings with `instar plan`, and `instar explain CODE` for each.",
    ),
    "E406": CodeDoc(
        "Interrupted",
        "The run was stopped by the user in the middle; the journal knows where.",
        "Run `instar apply` to go on.",
    ),
    "E410": CodeDoc(
        "The file is not a sealed plan",
        "`apply FILE` takes what `plan --out FILE` wrote, and this is missing, damaged or of another"
        " version.",
        "Seal a plan with `instar plan --out FILE` and apply that file.",
    ),
    "E411": CodeDoc(
        "The sealed plan is for something else",
        "A sealed plan carries its project, environment and policy; the command line says otherwise.",
        "Leave out --env, --column-conflict and --allow-*, or seal a new plan with them.",
    ),
    "E412": CodeDoc(
        "The plan cannot be written",
        "The file named by --out cannot be made or changed.",
        "Name a file in a folder that exists and that you may write to.",
    ),
    "E413": CodeDoc(
        "There is no such code",
        "`explain` was given a code that Instar does not have.",
        "`instar explain --all` lists every code.",
    ),
    "E440": CodeDoc(
        "There is nothing to put back",
        "The table has no old copy any more: `instar cleanup` dropped it, no rewrite made one, or the"
        " engine has cleaned its history up.",
        "`instar history` shows what was kept. Otherwise change the manifest and apply it.",
    ),
    "E441": CodeDoc(
        "The old copy is not dropped",
        "It is the only copy of the table that is left, or it is a version inside the table's history.",
        "`instar recover` puts an only copy back; Delta's VACUUM takes versions.",
    ),
    "E442": CodeDoc(
        "Several old copies, and nobody knows which is the newest",
        "The state store that knew their age is lost, and their names do not tell it.",
        "Say which one: `instar revert TABLE --to NAME`; or rename the right one back by hand.",
    ),
    "E443": CodeDoc(
        "A table is named like an unfinished copy",
        "It ends in `__instar_new`, but has not the mark of a copy that Instar made.",
        "Look at it; rename it or drop it by hand.",
    ),
    "E444": CodeDoc(
        "The tables of a revert are not where they should be",
        "Of the table, its old copy and what is put aside, some were renamed or dropped by others.",
        "Look at the tables that are named; bring them to their names, then run `instar recover`.",
    ),
    "E420": CodeDoc(
        "A rewritten copy is not what it should be",
        "Counts or checksums differ, or the table was altered or moved while it was being copied.",
        "The table is as it was; the message says what is left beside it. Plan again.",
    ),
    # --- F1xx columns ---
    "E430": CodeDoc(
        "An incremental key is NULL or stands twice",
        "New rows are matched by the key that the model names; without a value, or with two rows of one"
        " key, nobody can say which row is meant. Nothing was written.",
        "Filter such rows in the query, or choose another key.",
    ),
    "E431": CodeDoc(
        "There is no run to resume",
        "The last run of this environment ended well, or there was none.",
        "Run without --resume.",
    ),
    "E432": CodeDoc(
        "Nothing is selected",
        "--select and --exclude take names, patterns, tag:, path: and state:changed, with + for what is"
        " upstream or downstream.",
        "Correct the name.",
    ),
    "E433": CodeDoc(
        "The range of time cannot be used",
        "--start and --end must be the beginnings of intervals of the model's granularity.",
        "Name whole intervals.",
    ),
    "E434": CodeDoc(
        "A table could not be brought to its plan during a run",
        "It is gone, or a step of it failed.",
        "Look with `instar plan`, then run again.",
    ),
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
        "A column is gone and one of the same type is new beside it. Instar never guesses: unless it"
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
        " value out of range, or the like.",
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
        "Read the engine's words in the finding and mend the table's expressions.",
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
        "The journal has an unfinished run for this table. It is finished before anything new is begun.",
        "Run `instar apply` or `instar recover`.",
    ),
    "F504": CodeDoc(
        "The table is gone, and a copy of it is there",
        "A rewrite was cut off between its two renames, and the journal that knew of it is lost. A plan"
        " that created the table anew would hide its rows.",
        "Run `instar recover` or `instar apply`: what is left is put back first.",
    ),
    # --- F6xx what an engine cannot keep ---
    "F601": CodeDoc(
        "The engine cannot do or keep this",
        "The engine has neither a statement for the change nor a way to hold what is declared.",
        "Leave it out for this environment, or choose another format for the table.",
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
        "A rewrite is verified by computing values again, so what fills rows may not be random or"
        " depend on the clock.",
        "Use an expression that depends on the old row alone.",
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
        " manifests to the last table.",
        "Look at them; nothing need be done.",
    ),
}
