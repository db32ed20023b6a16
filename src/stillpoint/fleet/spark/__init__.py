"""Fleets on Spark: Structured Streaming with checkpointed learners, and a batch form."""

from importlib import import_module

for _name in ("pyspark", "pandas", "pyarrow", "google.protobuf"):
    try:
        import_module(_name)
    except ImportError:
        raise ImportError(
            f"stillpoint.fleet.spark must have {_name}: it is not installed; run: pip install"
            " 'stillpoint[spark]'"
        ) from None

from stillpoint.fleet.spark.forecasts import forecasts, plan  # noqa: E402
from stillpoint.fleet.spark.frames import batch, stream  # noqa: E402
from stillpoint.fleet.spark.session import session  # noqa: E402

__all__ = ["batch", "forecasts", "plan", "session", "stream"]
