from . import river as river
from . import sklearn as sklearn
from . import sktime as sktime
