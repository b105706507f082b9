"""How a DSQL environment is opened: a token of AWS credentials or one from the environment, never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.dsql.bed import DsqlBed
from instar.backends.dsql.engine import open_engine
from instar.backends.dsql.session import DsqlSession
from instar.backends.dsql.token import region_of, token
from instar.backends.registry import EngineSettings
from instar.core.schema import TableName
from instar.errors import EnvironmentProblem, InstarError, ProjectError

HOST = "abc123.dsql.eu-west-1.on.aws"


def settings(**options: str) -> EngineSettings:
    return EngineSettings("dsql", "", Path(), options=options)


def opened(**options: str) -> None:
    open_engine(settings(**options), lambda _: None).close()


@pytest.mark.parametrize(
    ("host", "region"),
    [
        (HOST, "eu-west-1"),
        ("abc.dsql-fips.us-gov-west-1.on.aws", "us-gov-west-1"),
        ("localhost", None),
    ],
)
def test_the_region_is_in_the_endpoint(host: str, region: str | None) -> None:
    assert region_of(host) == region


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.mark.usefixtures("credentials")
@pytest.mark.parametrize(
    ("user", "action"), [("admin", "Action=DbConnectAdmin&"), ("reader", "Action=DbConnect&")]
)
def test_a_token_is_signed_on_the_spot(user: str, action: str) -> None:
    made = token(HOST, "eu-west-1", user)
    assert made.startswith(f"{HOST}/?{action}")
    assert "X-Amz-Signature=" in made
    assert "wJalrXUtnFEMI" not in made


def test_without_credentials_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    with pytest.raises(EnvironmentProblem) as caught:
        opened(host=HOST)
    assert caught.value.code == "E251"
    assert "NoCredentialsError" in caught.value.message


@pytest.mark.parametrize("options", [{}, {"host": "db.internal"}])
def test_what_is_missing_is_named(options: dict[str, str]) -> None:
    with pytest.raises(ProjectError) as caught:
        opened(**options)
    assert caught.value.code == "E104"


def test_a_password_is_never_shown() -> None:
    with pytest.raises(InstarError) as caught:
        opened(host="127.0.0.1", port="9", password="hunter2", sslmode="disable", sslrootcert="x")
    assert caught.value.code == "E251"
    assert "Aurora DSQL cannot be reached" in caught.value.message
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"


def test_a_connection_that_was_lost_is_opened_with_a_new_password(bed: DsqlBed) -> None:
    asked: list[str] = []

    def conninfo() -> str:
        asked.append("token")
        return bed.url()

    session = DsqlSession(conninfo)
    session.close()
    assert session.ask("SELECT current_setting('search_path')") == [('""',)]
    assert asked == ["token", "token"]
    session.close()


def test_batches_never_pass_the_limit(bed: DsqlBed) -> None:
    engine = open_engine(settings(url=bed.url(), batch_rows="100000"), lambda _: None)
    backend = engine.backend("dsql")
    assert backend.inspect([TableName("public", "nothing")]) == {}
    assert backend.session.patience.batch == 2999  # type: ignore[attr-defined]
    engine.close()


def test_a_connection_is_opened_anew_before_the_service_ends_it(
    bed: DsqlBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two transactions, and with a password of its own."""
    asked: list[str] = []

    def conninfo() -> str:
        asked.append(bed.url())
        return asked[-1]

    session = DsqlSession(conninfo)
    assert session.ask("SELECT 1") == [(1,)]
    assert len(asked) == 1
    with session.transaction():
        monkeypatch.setattr(DsqlSession, "lifetime", 0.0)
        assert session.ask("SELECT 1") == [(1,)]
        assert len(asked) == 1
    assert session.ask("SELECT 1") == [(1,)]
    assert len(asked) == 2
    session.close()
