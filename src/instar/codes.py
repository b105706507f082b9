"""The table of stable codes: what each error and finding means and what to do about it.

E1xx files of the project · E2xx environment and engine · E3xx state, lock, journal ·
E4xx plan and apply · F1xx columns · F2xx values in the rows · F3xx keys and constraints ·
F4xx order and change tracking · F5xx cost and what cannot be undone · F6xx what an engine cannot keep.
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
}
