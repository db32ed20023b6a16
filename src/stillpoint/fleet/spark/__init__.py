"""Fleets on Spark: Structured Streaming with checkpointed learners, and a batch form."""

from stillpoint.core.extras import require

for _name in ("pyspark", "pandas", "pyarrow", "google.protobuf"):
    require(_name, "stillpoint.fleet.spark", "spark")

from stillpoint.fleet.spark.forecasts import forecasts, plan  # noqa: E402
from stillpoint.fleet.spark.frames import batch, stream  # noqa: E402
from stillpoint.fleet.spark.session import session  # noqa: E402

__all__ = ["batch", "forecasts", "plan", "session", "stream"]
