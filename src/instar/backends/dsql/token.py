"""The password of a connection to Aurora DSQL: a token that is signed on the spot with AWS credentials."""

from __future__ import annotations

import re

from instar.errors import EnvironmentProblem

ADMIN = "admin"
_REGION = re.compile(r"[^.]+\.dsql[^.]*\.(?P<region>[a-z0-9-]+)\.on\.aws$")


def region_of(host: str) -> str | None:
    """The region that the name of a cluster's endpoint holds."""
    found = _REGION.match(host)
    return found["region"] if found else None


def token(host: str, region: str, user: str) -> str:
    """Signed locally, valid for minutes, asked for at each opening; no request leaves this machine."""
    try:
        import boto3
        from botocore.exceptions import BotoCoreError
    except ModuleNotFoundError:
        raise EnvironmentProblem(
            "E230",
            "a token for Aurora DSQL needs boto3, which is not installed",
            hint="pip install 'instar[dsql]', or give the token as `password: ${NAME}`.",
        ) from None
    try:
        client = boto3.Session().client("dsql", region_name=region)
        if user == ADMIN:
            return str(client.generate_db_connect_admin_auth_token(host, region))
        return str(client.generate_db_connect_auth_token(host, region))
    except BotoCoreError as error:
        raise EnvironmentProblem(
            "E251",
            f"no token for Aurora DSQL could be signed: {type(error).__name__}",
            hint="Are AWS credentials there (environment, profile, role)?",
        ) from None
