"""Opens a Spark environment: three table formats over one session."""

from __future__ import annotations

from collections.abc import Callable

from instar.backends.registry import Engine, EngineSettings
from instar.backends.spark.delta import DeltaBackend
from instar.backends.spark.iceberg import IcebergBackend
from instar.backends.spark.parquet import ParquetBackend
from instar.spark.session import adopt, open_session


def open_engine(settings: EngineSettings, note: Callable[[str], None]) -> Engine:
    """A session that was handed in is used and never stopped."""
    if settings.session is not None:
        handle = adopt(settings.session)
    else:
        assert settings.spark is not None, "a spark environment has spark settings"
        handle = open_session(settings.spark, note)
    backends = {
        "delta": DeltaBackend(handle),
        "iceberg": IcebergBackend(handle),
        "parquet": ParquetBackend(handle),
    }
    return Engine(backends, settings.format or "delta", handle.close)
