"""Opens and closes sessions over Spark Connect."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import socket
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from instar.errors import EnvironmentProblem
from instar.spark.failures import silence, status_name, token_refused, translate

if TYPE_CHECKING:
    from pyspark.sql.connect.client import SparkConnectClient
    from pyspark.sql.connect.session import SparkSession

_DEFAULT_PORT = 15002
_REACH_SECONDS = 5.0
# What `SparkSession.builder.remote` sets: pyspark.sql.functions go by its presence.
REMOTE_MODE = "SPARK_CONNECT_MODE_ENABLED"
_OURS = "instar"
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")

# Neither saying hello nor letting go may hang on a server that hangs.
_LIMITS = {
    "30s": ("Config",),
    "5s": ("ReleaseSession", "ReleaseExecute", "FetchErrorDetails", "Interrupt"),
}
_SERVICE = "spark.connect.SparkConnectService"
_SERVICE_CONFIG = {
    "methodConfig": [
        {"name": [{"service": _SERVICE, "method": name} for name in methods], "timeout": limit}
        for limit, methods in _LIMITS.items()
    ]
}
_QUICK = {"max_retries": 2, "initial_backoff": 50, "max_backoff": 500}
# A running statement is looked for again by its id after a short break of the network; about 25 s.
_PATIENT = {"max_retries": 8, "initial_backoff": 50, "max_backoff": 5000}

_open: set[SparkSession] = set()
_guard = threading.Lock()


def preload() -> None:
    """Import the client; seconds well spent while the server starts."""
    import pyspark.sql.connect.session  # noqa: F401


def open_local(port: int, token: str) -> SparkSession:
    """A session on this machine's own server.

    Only the literal host `localhost` lets the client send a token without TLS.
    """
    session = _connect(f"sc://localhost:{port}/;token={token}", [("grpc.enable_http_proxy", 0)])
    _first_answer(session, f"localhost:{port}")
    return session


def open_remote(url: str, conf: Iterable[tuple[str, str]]) -> SparkSession:
    """A session on the user's server; fails within seconds where nobody answers."""
    place = probe(url, _DEFAULT_PORT)
    session = _connect(url, [])
    _first_answer(session, place)
    try:
        for key, value in conf:
            if session.conf.get(key, None) != value:
                session.conf.set(key, value)
    except Exception as error:
        close(session)
        raise translate(error) or error from error
    session.client.set_retry_policies([_policy(_PATIENT)])
    return session


def close(session: SparkSession) -> None:
    """Release the session on the server and the channel here, within seconds, exactly once."""
    with _guard:
        if session not in _open:
            return
        _open.discard(session)
        if not _open and os.environ.get(REMOTE_MODE) == _OURS:
            del os.environ[REMOTE_MODE]
    _forget(session)
    session.client.set_retry_policies([_policy(_QUICK)])
    _let_go(session.client)
    # PySpark closes once more when the session is collected, in whatever thread that happens,
    # under a lock of the class that another thread may hold while it waits for this one.
    session.client.close = _nothing


def _connect(url: str, options: list[tuple[str, object]]) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.session import SparkSession

    silence()
    options = [*options, ("grpc.service_config", json.dumps(_SERVICE_CONFIG))]
    try:
        session = SparkSession(connection=DefaultChannelBuilder(url, options))
    except PySparkException:
        raise _unreadable() from None
    session.client.set_retry_policies([_policy(_QUICK)])
    # At exit it would send one more command, through a channel that is closed by then.
    atexit.unregister(session.client._cleanup_ml_cache)
    with _guard:
        # Held here so that no session is collected before it is closed.
        _open.add(session)
        os.environ.setdefault(REMOTE_MODE, _OURS)
    SparkSession._set_default_and_active_session(session)
    return session


def _policy(limits: dict[str, int]) -> object:
    from pyspark.sql.connect.client.retries import DefaultPolicy

    return DefaultPolicy(**limits)


def _first_answer(session: SparkSession, place: str) -> None:
    try:
        session.conf.get("spark.sql.session.timeZone")
    except Exception as error:
        close(session)
        raise _no_answer(error, place) from error


def _no_answer(error: Exception, place: str) -> EnvironmentProblem:
    if status_name(error) == "UNAUTHENTICATED":
        return token_refused()
    return EnvironmentProblem(
        "E202",
        f"No Spark answers at {place}.",
        hint="Check the address and that the server runs. With a token the connection is encrypted"
        " unless the host is written `localhost`.",
    )


def probe(url: str, default_port: int) -> str:
    """Knock at `scheme://host:port` and return `host:port`; a client would try for long."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or default_port
        # Through a proxy the host need not be reachable from here.
        if not any(os.environ.get(n) or os.environ.get(n.upper()) for n in _PROXIES):
            socket.create_connection((host, port), timeout=_REACH_SECONDS).close()
    except ValueError:
        raise _unreadable() from None
    except OSError as error:
        raise _no_answer(error, f"{host}:{port}") from error
    return f"{host}:{port}"


def _unreadable() -> EnvironmentProblem:
    # Without the address itself, and without a cause that shows it: it may hold a token.
    return EnvironmentProblem(
        "E202",
        "The Spark address cannot be read.",
        hint="It looks like sc://host:15002/;token=${NAME};use_ssl=true",
    )


def _let_go(client: SparkConnectClient) -> None:
    with contextlib.suppress(Exception):
        client.release_session()
    with contextlib.suppress(Exception):
        client.close()


def _forget(session: SparkSession) -> None:
    kind = type(session)
    if kind._default_session is session:
        kind._default_session = None
    if getattr(kind._active_session, "session", None) is session:
        kind._active_session.session = None


def _nothing() -> None:
    return None


@atexit.register
def _close_all() -> None:
    for session in list(_open):
        close(session)
