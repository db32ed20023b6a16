from .anomalies import Anomalies as Anomalies
from .anomaly import Anomaly as Anomaly
from .change import Change as Change
from .changes import Changes as Changes
