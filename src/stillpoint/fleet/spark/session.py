"""Spark sessions that fleets can run in."""

import os
import sys
from typing import Any

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
PARTITIONS = "spark.sql.shuffle.partitions"
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def session(**options: Any) -> Any:
    """Return the running session, or a new one with what fleets need.

    Where nothing says otherwise (spark__master=…, spark-submit, spark-defaults.conf) it runs on all
    cores of this machine.

    Parameters
    ----------
    **options
        Further Spark settings, dots as two underscores.
    """
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers must find stillpoint, too
    wanted = {
        PROVIDER: ROCKS,
        **{name.replace("__", "."): value for name, value in options.items()},
    }
    # not under spark-submit: no page on a port that nobody asked for
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        wanted.setdefault("spark.ui.enabled", "false")
    builder = SparkSession.builder.appName("stillpoint fleet")
    for name, value in wanted.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    # Spark's own default
    if spark.sparkContext.master.startswith("local") and spark.conf.get(PARTITIONS) == "200":
        # a task a core: every task opens its own state store, and on one machine more of them only
        # cost
        spark.conf.set(PARTITIONS, spark.sparkContext.defaultParallelism)
    return spark


def check(spark: Any) -> None:
    """Refuse a session whose state store cannot hold the learners."""
    given = spark.conf.get(PROVIDER)
    if not given.endswith("RocksDBStateStoreProvider"):
        raise ValueError(
            f"{PROVIDER} must be RocksDB's: got {given}; run spark.conf.set({PROVIDER!r},"
            f" {ROCKS!r}) first"
        )
