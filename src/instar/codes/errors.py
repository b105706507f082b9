"""Codes of errors of the environment and engine (E2xx), the state (E3xx), plan and apply (E4xx)."""

from __future__ import annotations

from instar.codes.doc import CodeDoc

ERRORS: dict[str, CodeDoc] = {
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
    "E215": CodeDoc(
        "A Delta table is never quiet long enough to be rewritten",
        "A rewrite of a Delta table is one commit that reads the whole table; another writer's commit"
        " in that time makes it start again, so that no row is lost. It was tried for five minutes,"
        " and at least five times.",
        "Hold the table's writers while `instar apply` runs, or choose a quieter hour.",
    ),
    "E216": CodeDoc(
        "The folder of a new Delta table is not empty",
        "Where the table is to be created there are files, but no Delta table. A CREATE that Delta refused"
        " leaves a folder with `_delta_log/_staged_commits` behind, which then stands in the way.",
        "Look into the folder that the message names and remove it, then run `instar apply` again.",
    ),
    "E217": CodeDoc(
        "Spark cannot read a table's definition",
        "The catalog has the table, and Spark fails on what it wrote down of it itself. It does so for a"
        " column that holds both a nested VARCHAR(n) or CHAR(n) and a field name that needs quotes; it can"
        " then not drop the table either. Instar refuses such a type in the plan (F601).",
        "Remove the table where the catalog is kept (its metastore), or drop its schema with CASCADE if"
        " nothing else is in it. The files stay where they are.",
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
        "An expression of the manifest names a column or a function that is not there; or the database file and a"
        " schema in it have one name.",
        "Correct the expression that the message shows, or rename the file.",
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
        "A driver is not installed",
        "Drivers of engines and state stores that most projects do not use are left out of the plain"
        " installation.",
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
    "E242": CodeDoc(
        "The old table has rows that the new one lacks",
        "On Snowflake a table is copied, then swapped. Somebody wrote between the two, or changed the new"
        " table since. The old rows are kept in name__swap, and nothing is dropped.",
        "Stop the writers, bring over what is missing from name__swap, then run `instar apply` again.",
    ),
    "E250": CodeDoc(
        "A table is in the way",
        "A rewrite builds its copy under a name of its own, and somebody else's table has it.",
        "Rename or drop the table that the message names, then try again.",
    ),
    "E251": CodeDoc(
        "PostgreSQL or Aurora DSQL cannot be reached",
        "No connection could be made: the server is down, the address is wrong, or the user and password"
        " are not accepted.",
        "Look at `url`, or host, port, database and user, and where the password comes from.",
    ),
    "E252": CodeDoc(
        "A privilege is missing",
        "PostgreSQL lets only the owner of a table change it; a recreation also needs CREATE on its"
        " schema, and TEMPORARY on the database, as does a plan that has an expression to ask about. A"
        " standby, or a role that only reads, can do none of it.",
        "Connect as the owner, or as a member of its role, and grant what the message names.",
    ),
    "E253": CodeDoc(
        "A lock was not granted",
        "Another transaction holds the table. Instar waits a few seconds and tries again some times, so"
        " that nobody queues behind it for long; then it gives up. A copy that waits only for its cut-over is kept,"
        " and so is the index of a key that waits for its table. It may also be another run of Instar that is at the table.",
        "End the transaction that holds it (pg_stat_activity, pg_locks), then run the command again.",
    ),
    "E254": CodeDoc(
        "PostgreSQL or Aurora DSQL refused a statement",
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
        "The connection to PostgreSQL or Aurora DSQL was lost",
        "The server went away while a statement ran; it may have been committed.",
        "Run the command again: it looks at the table first and never repeats blindly.",
    ),
    "E258": CodeDoc(
        "An earlier recreation has not ended",
        "The tables were swapped, but foreign keys may still wait for their validation.",
        "Run `instar recover`, which finishes it.",
    ),
    "E259": CodeDoc(
        "A table was written while it was copied",
        "Aurora DSQL has nothing that would tell what writers do during a recreation, so they must stop."
        " The table no longer is what was compared with the copy: it has its name back, with all that was"
        " written, and the copy is dropped.",
        "Stop the writers, then run `instar apply` again.",
    ),
    "E227": CodeDoc(
        "Rows came after the plan that it would lose",
        "The plan proved that every row survives; since then rows were written that would not. The"
        " step was rolled back.",
        "Plan again: the plan shows the rows.",
    ),
    "E228": CodeDoc(
        "There is no room on the disk",
        "The engine could not write: the disk, a quota or a limit on the size of files is used up. The"
        " step was rolled back and the table is as it was.",
        "Free some space (a rewrite needs as much again as the table has), then run the command again.",
    ),
    "E229": CodeDoc(
        "A table was altered while it was recreated, or before it was put back",
        "The copy was made for the definition that the plan saw. Since then somebody has altered the table:"
        " a column, a key, an index, a policy, a publication, its owner. What was altered would not be in"
        " the copy, so it was dropped, and the table is as the others left it. A revert that was asked"
        " about other definitions than those that are there now is refused in the same way.",
        "Plan again, or revert again: the table is then seen as it is now.",
    ),
    "E260": CodeDoc(
        "The memory engine cannot evaluate an expression",
        "Its evaluator knows plain columns, arithmetic, comparison, AND / OR / NOT, CASE, CAST and a"
        " few text functions.",
        "Write the expression with those, or use another engine.",
    ),
    "E262": CodeDoc(
        "The old table was written while it was swapped",
        "Aurora DSQL swaps by two renames, each a transaction of its own. Behind the second one the old table"
        " is not what was compared with the copy: somebody reached it by the name under which it is kept."
        " What was written is there, and not in the new table.",
        "Run `instar recover`, which ends the swap. Then carry the rows over by hand, or `instar revert`"
        " the table: its question counts the rows that differ.",
    ),
    "E263": CodeDoc(
        "A cut-over would hold its lock too long",
        "A recreation on PostgreSQL takes the last changes over while writers wait, for a second at most. Writers"
        " change rows faster than they are taken over beside them, or the server was too slow for the last ones."
        " It was tried again some times. The table is as it was; the copy is kept, and followed.",
        "Run `instar apply` when fewer rows are written: it goes on with the cut-over.",
    ),
    "E261": CodeDoc(
        "The memory engine refused a step",
        "A row breaks what the table promises, or the table is not there.",
        "Look at the rows that the message speaks of; nothing of the step was kept.",
    ),
    # --- E3xx state, lock, journal ---
    "E301": CodeDoc(
        "The state store is damaged or foreign",
        "The file or the PostgreSQL schema that `state` points at is no state store of Instar, or can no"
        " longer be read.",
        "Point `state` at another file or schema, or restore this one from a backup. Tables are not"
        " harmed.",
    ),
    "E302": CodeDoc(
        "The state store is newer than this Instar",
        "A newer Instar has written it, in a format that this one does not know.",
        "Upgrade Instar; everybody who shares the state store needs the same format.",
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
        "The state store cannot be used",
        "Its folder does not exist and cannot be made, or permissions forbid it. On PostgreSQL: the role"
        " lacks a privilege, the server only reads, or the database is not in UTF8.",
        "Mend the permissions, or point `state` in instar.yml at another place.",
    ),
    "E306": CodeDoc(
        "Writing the state store failed",
        "The disk is full or broken. What was journalled before is kept, and nothing else was begun.",
        "Free some space and run the command again; an unfinished run is resumed.",
    ),
    "E307": CodeDoc(
        "The state store is busy",
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
        "It is `sqlite:///path`, relative to the project unless the path begins with another slash, or"
        " `postgresql://user:password@host:5432/database`, where `?schema=NAME` may follow.",
        "Write `state: sqlite:///.instar/state.db` in instar.yml, or `state: ${INSTAR_STATE}`. Odd"
        " characters of a password are written as %40 (for @), %2F (for /) and so on.",
    ),
    "E312": CodeDoc(
        "The state store cannot be reached",
        "The PostgreSQL server of the state store is down, the address is wrong, the user and password are"
        " not accepted, or the connection was lost. What was journalled before is kept.",
        "Mend the connection and run the command again; an unfinished run is resumed.",
    ),
    "E313": CodeDoc(
        "The state store refused a statement",
        "PostgreSQL answered with an error that a state store of Instar's making does not cause. Nothing of"
        " that transaction is kept; what was journalled before it is.",
        "Look whether somebody altered its tables, or whether the server is no plain PostgreSQL. Take"
        " another schema (`?schema=NAME`) if in doubt.",
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
        "Some step destroys, rewrites or cannot be undone, and nobody was there to say yes, or the answer"
        " was no.",
        "Answer the question, or pass --yes where nobody can be asked.",
    ),
    "E404": CodeDoc(
        "The sealed plan no longer fits",
        "A table or a manifest has moved since the plan was sealed, or it was applied before. The message"
        " says what became of which table.",
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
    "E414": CodeDoc(
        "The sealed plan was changed",
        "The file does not say what was sealed: somebody has edited it. `apply FILE` plans again and would"
        " not run the edited statements, so that what was reviewed and what runs would differ.",
        "Seal a new plan with `instar plan --out FILE`.",
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
        "Which old copy is meant is not certain",
        "The name is that of tables in several schemas; or a table has several old copies, and the state"
        " store that knew their age is lost.",
        "Name the table with its schema: `instar revert SCHEMA.TABLE`. Or say which copy: `instar revert"
        " TABLE --to NAME`; or rename the right one back by hand.",
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
    "E445": CodeDoc(
        "The old copy cannot take the table's place",
        "Something is tied to the table that is there now, and would stay with it when it is put aside: row"
        " security, a publication, a rule, a materialized view, a child; on Aurora DSQL a view or a"
        " foreign key.",
        "Take it off the table, revert, make it again.",
    ),
    "E420": CodeDoc(
        "A rewritten copy is not what it should be",
        "Counts or checksums differ, or the table was altered or moved while it was being copied.",
        "The table is as it was; the message says what is left beside it. Plan again.",
    ),
    # --- F1xx columns ---
    "E430": CodeDoc(
        "An incremental key is NULL, stands twice, or is no time of an interval",
        "New rows are matched by the key that the model names; without a value, or with two rows of one"
        " key, nobody can say which row is meant. An event time must lie in the years 1 to 9998. Nothing"
        " was written.",
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
        "--start and --end must be the beginnings of intervals of the model's granularity, and no more"
        " than 10,000 intervals are built one by one. --full-refresh replaces all rows and has no range.",
        "Name whole intervals; build very many at once with --full-refresh.",
    ),
    "E434": CodeDoc(
        "A table could not be brought to its plan during a run",
        "It is gone, or a step of it failed.",
        "Look with `instar plan`, then run again.",
    ),
}
