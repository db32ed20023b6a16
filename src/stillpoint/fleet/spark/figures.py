"""What a run on Spark came to, from the predictions it wrote: the figures of the local engine's account."""

from collections.abc import Iterator
from typing import Any

from stillpoint.fleet.command.account import ENOUGH, WORST
from stillpoint.fleet.command.options import FleetOptions


def figures(spark: Any, path: str, options: FleetOptions) -> dict[str, Any]:
    """Rows, keys, loss, coverage, what was rejected and the keys that fared worst."""
    import pyspark.sql.functions as F

    player = options.player()
    rows, target, columns = spark.read.parquet(path), options.target, player.columns

    def score(frames: Iterator[Any]) -> Iterator[Any]:
        for frame in frames:
            learnt = frame[(frame["rejected"].isna() & frame[target].notna()).to_numpy()]
            losses, hits = player.score([learnt[name].to_numpy() for name in columns], learnt[target].to_numpy())
            own = frame[["key"]].assign(targets=0.0, losses=0.0, hits=0.0, rejected=frame["rejected"].notna().astype(float))
            own.loc[learnt.index, "targets"], own.loc[learnt.index, "losses"] = 1.0, losses
            own.loc[learnt.index, "hits"] = hits.astype(float)
            yield own

    named = rows.select(F.col(f"`{options.key}`").alias("key"), f"`{target}`", *columns, "rejected")
    kind = dict(named.dtypes)["key"]
    scored = named.mapInPandas(score, f"key {kind}, targets double, losses double, hits double, rejected double")
    names = ("targets", "losses", "hits", "rejected")
    keys = scored.groupBy("key").agg(F.count("*").alias("rows"), *(F.sum(name).alias(name) for name in names)).cache()
    whole = keys.agg(F.sum("rows"), F.count("key"), *(F.sum(name) for name in names), F.max("targets")).first()
    count, streams, targets, losses, hits, rejected, most = (value or 0 for value in whole)
    mean = F.col("losses") / F.col("targets")
    worst = (
        keys.filter(F.col("targets") >= max(1, min(ENOUGH, most)))
        .filter("key is not null")
        .orderBy(mean.desc(), "key")
        .limit(WORST)
    )
    lost = keys.filter("rejected > 0 and key is not null").orderBy(F.desc("rejected"), "key").limit(WORST)
    reasons = rows.filter("rejected is not null").groupBy(F.split("rejected", ": got ")[0].alias("reason")).count()
    result: dict[str, Any] = {"rows": int(count), "targets": int(targets), "keys": int(streams), "loss_name": player.loss_name}
    result["loss"] = losses / targets if targets else None
    asked = player.fleet.config.get("coverage", player.fleet.config.get("level"))
    if asked is not None:
        result["coverage"] = {"asked": asked, "achieved": hits / targets if targets else None}
    result["worst"] = [
        {
            "key": row["key"],
            "targets": int(row["targets"]),
            "loss": row["losses"] / row["targets"],
            "rejected": int(row["rejected"]),
        }
        for row in worst.collect()
    ]
    result["rejected"] = {
        "rows": int(rejected),
        "reasons": {row["reason"]: row["count"] for row in reasons.orderBy(F.desc("count"), "reason").collect()},
        "keys": [{"key": row["key"], "rows": int(row["rejected"])} for row in lost.collect()],
    }
    return result
