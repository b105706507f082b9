"""Which engine jars go together with the pinned pyspark, and why."""

from __future__ import annotations

from dataclasses import dataclass

SPARK = "4.1.4"
SPARK_LINE = "4.1"
SCALA = "2.13"

# The newest Delta with a jar for Spark 4.1; 4.4.1 was published for other Spark lines only.
DELTA = "4.4.0"
# The first Iceberg whose runtime for Spark 4.1 was probed together with this Delta.
ICEBERG = "1.12.0"
# The JDBC driver under Iceberg's JdbcCatalog: a real pointer swap in one local file.
SQLITE_JDBC = "3.50.3.0"

JAVA = (17, 21)


@dataclass(frozen=True, slots=True)
class Package:
    """One Maven coordinate that an engine needs."""

    group: str
    artifact: str
    version: str

    def __str__(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"


PACKAGES = (
    Package("io.delta", f"delta-spark_{SPARK_LINE}_{SCALA}", DELTA),
    Package("org.apache.iceberg", f"iceberg-spark-runtime-{SPARK_LINE}_{SCALA}", ICEBERG),
    Package("org.xerial", "sqlite-jdbc", SQLITE_JDBC),
)
