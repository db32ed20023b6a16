from .anomalies import Anomalies as Anomalies
from .anomaly import Anomaly as Anomaly
from .changes import Change as Change
from .changes import Changes as Changes
