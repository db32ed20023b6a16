"""What a run on Spark came to, from the predictions it wrote: the figures of the local engine's
account.
"""

from collections.abc import Iterator
from typing import Any

from stillpoint.commands.fleet_options import FleetOptions
from stillpoint.commands.fleet_summary import ENOUGH, SUMS, WORST, layout


def figures(spark: Any, path: str, options: FleetOptions) -> dict[str, Any]:
    """`layout` of a run's predictions."""
    import pyspark.sql.functions as F

    player = options.player()
    rows, target, columns = spark.read.parquet(path), options.target, player.columns

    def score(frames: Iterator[Any]) -> Iterator[Any]:
        for frame in frames:
            learnt = frame[(frame["rejected"].isna() & frame[target].notna()).to_numpy()]
            losses, hits = player.score(
                [learnt[name].to_numpy() for name in columns], learnt[target].to_numpy()
            )
            own = frame[["key"]].assign(
                targets=0.0, losses=0.0, hits=0.0, rejected=frame["rejected"].notna().astype(float)
            )
            own.loc[learnt.index, "targets"], own.loc[learnt.index, "losses"] = 1.0, losses
            own.loc[learnt.index, "hits"] = hits.astype(float)
            yield own

    named = rows.select(F.col(f"`{options.key}`").alias("key"), f"`{target}`", *columns, "rejected")
    kind = dict(named.dtypes)["key"]
    scored = named.mapInPandas(
        score, ", ".join([f"key {kind}", *(f"{name} double" for name in SUMS)])
    )
    keys = (
        scored.groupBy("key")
        .agg(F.count("*").alias("rows"), *(F.sum(name).alias(name) for name in SUMS))
        .cache()
    )
    whole = keys.agg(
        F.sum("rows"), F.count("key"), F.max("targets"), *(F.sum(name) for name in SUMS)
    ).first()
    count, streams, most, *sums = (value or 0 for value in whole)
    mean = F.col("losses") / F.col("targets")
    worst = (
        keys.filter(F.col("targets") >= max(1, min(ENOUGH, most)))
        .filter("key is not null")
        .orderBy(mean.desc(), "key")
        .limit(WORST)
    )
    lost = (
        keys.filter("rejected > 0 and key is not null")
        .orderBy(F.desc("rejected"), "key")
        .limit(WORST)
    )
    reasons = (
        rows.filter("rejected is not null")
        .groupBy(F.split("rejected", ": got ")[0].alias("reason"))
        .count()
    )
    told = {
        row["reason"]: row["count"] for row in reasons.orderBy(F.desc("count"), "reason").collect()
    }
    fared, refused = ([row.asDict() for row in some.collect()] for some in (worst, lost))
    return layout(
        player, int(count), int(streams), dict(zip(SUMS, sums, strict=True)), fared, refused, told
    )
