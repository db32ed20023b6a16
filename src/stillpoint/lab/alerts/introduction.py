"""What the page of the benchmark of alerts says before its tables."""

from typing import Any

from stillpoint.alerts._anomalies import pause
from stillpoint.lab.alerts.anomalies import RATES
from stillpoint.lab.alerts.changes import WITHIN
from stillpoint.lab.alerts.scorers import WINDOW

_SETTING = (
    "`sp.Changes` and `sp.Anomalies` on streams whose law is known, beside river's detectors: "
    "{streams} streams a law (seeds {first} to {last}), {rounds} rows each. A standard deviation "
    "(sd) is that of the noise, for autoregressions the marginal one; a season comes on top of it. "
    "Detectors are built as shipped and told nothing about a stream."
)
_CHOSEN = (
    "What chose what: the rule of `sp.Anomalies` was chosen on half of the files of the Numenta "
    "Anomaly Benchmark, and measured on the laws of the group known. The bets of "
    "`sp.Changes` and how its reference begins were chosen on these but hours, other seeds, and on "
    "streams with trends and a season; how a second season is taken off, on other seeds of hours. "
    "The four laws of the group unseen chose nothing. No peer was tuned."
)
_CHANGES = (
    "**Changes.** Streams without change count false alarms; in brackets the standard error over "
    "streams. Each stream is also changed in row {early} and, apart from that, in row {late}, in "
    "every way there is, over the same noise. Found: an alarm within {within} rows. A detector "
    "that often raises false alarms finds much by chance: the line none is what it finds where "
    "nothing changed. `sp.Changes(every={every})` promises at most one false alarm in that many "
    "rows where the errors of its forecasts are exchangeable, which GARCH's are not: its spread "
    "does change. It tells when, what and by how much, as known 50 rows after the alarm; of a "
    "spread the true size is the noise's, what is stated is that of the values with their season. "
    "river's detectors tell only that something changed. ADWIN, PageHinkley and KSWIN run at "
    "river's defaults and begin anew by themselves after an alarm. KSWIN plays one stream in ten; "
    "its decisions are river's, seed for seed, by a faster form of its test. river's other drift "
    "detectors are for streams of errors that are 0 or 1."
)
_ANOMALIES = (
    "**Anomalies.** Of 10 000 rows without anomalies rate × 10 000 should be flagged. An alarm is "
    "a flagged row with no other in the {quiet} rows before: the rule of `sp.Anomalies`, applied "
    "to everybody. In one stream of five anomalies are tried at {places} rows from row {late} on, "
    "up or down at random: lone spikes, found if their row is flagged, and stretches, found if one "
    "of their rows is. Who flags far more rows than the rate allows finds more, and its alarms "
    "fewer: it is seldom quiet. Rolling z-score: |y − mean| over the deviation of the {window} "
    "rows before, flagged beyond a normal's quantile at 1 − rate/2. GaussianScorer has two forms: "
    "behind `ThresholdFilter(threshold=1 − rate)`, right for normal noise, and behind "
    "`QuantileFilter(q=1 − rate)`, whose threshold is a running quantile of past scores. "
    "HalfSpaceTrees (behind a MinMaxScaler, on a fifth of these streams) and OneClassSVM (behind a "
    "StandardScaler, on half of them) have the latter. All of them get the row's value as their "
    "only feature and score it before they learn; flagged rows are kept from learning, river's "
    "default. Left out: LocalOutlierFactor and LODA (over 0.4 ms a row), StandardAbsoluteDeviation "
    "(it ranks rows as GaussianScorer does), PredictiveAnomalyDetection (scores end at 1, so that "
    "no quantile lies above)."
)
_COMMAND = (
    "`{command} --out DIR` makes this page, its picture and all its figures as JSON. µs a row: "
    "processor time, medians over streams, several processes at once; river's detectors are called "
    "from Python row by row."
)


def introduction(settings: dict[str, Any]) -> str:
    """What is measured and how, with the settings of a run."""
    seeds = settings["seeds"]
    figures = {
        "streams": len(seeds),
        "first": seeds[0],
        "last": seeds[-1],
        "rounds": settings["rounds"],
        "early": settings["starts"][0],
        "late": settings["starts"][1],
        "places": settings["places"],
        "within": WITHIN,
        "every": f"{settings['every']:.0f}",
        "quiet": " or ".join(f"{pause(rate)} (rate {rate:g})" for rate in RATES),
        "window": WINDOW,
        "command": settings.get("command", "stillpoint bench alerts"),
    }
    said = [_SETTING, _CHOSEN]
    said += [_CHANGES] if "changes" in settings["parts"] else []
    said += [_ANOMALIES] if "anomalies" in settings["parts"] else []
    return "\n\n".join(["# Alerts", *(each.format(**figures) for each in [*said, _COMMAND])]) + "\n"
