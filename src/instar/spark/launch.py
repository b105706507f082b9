"""The environment in which Spark's own scripts run, free of the caller's other Sparks."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from instar.errors import EnvironmentProblem
from instar.spark.java import find_java

# Each of these could point the scripts at another Spark, another Hive or another cluster.
_FOREIGN = ("SPARK_", "PYSPARK_", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "HIVE_CONF_DIR")


def spark_home() -> Path:
    """The Spark inside the installed pyspark, found without importing it."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise EnvironmentProblem(
            "E204", "The package pyspark is not installed.", hint="pip install 'pyspark[connect]'"
        )
    return Path(spec.origin).parent


def clean_environment(conf_dir: Path) -> dict[str, str]:
    """The caller's environment with Spark's own variables replaced by ours."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(_FOREIGN)}
    return kept | {
        "JAVA_HOME": str(find_java().home),
        "SPARK_HOME": str(spark_home()),
        "SPARK_CONF_DIR": str(conf_dir),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }


def script(name: str) -> str:
    """The path of one of Spark's own scripts, such as `spark-submit`."""
    return str(spark_home() / "bin" / name)
