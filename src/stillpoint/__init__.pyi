from . import domains as domains
from . import estimators as estimators
from . import kernels as kernels
from . import lab as lab
from . import losses as losses
from . import potentials as potentials
from . import regret as regret
from .core.persist import load as load
from .core.persist import save as save
from .fleet import Fleet as Fleet
from .forecasters import KernelForecaster as KernelForecaster
from .forecasters import KernelVAW as KernelVAW
from .forecasters import TrackingForecaster as TrackingForecaster
from .forecasters import TrackingVAW as TrackingVAW
from .forecasters import VariationForecaster as VariationForecaster
from .intervals import IntervalTracker as IntervalTracker
from .intervals import QuantileTracker as QuantileTracker
from .learners import Directional as Directional
from .learners import ExpConcave as ExpConcave
from .learners import KernelFTRL as KernelFTRL
from .learners import MultiScale as MultiScale
from .learners import StronglyConvex as StronglyConvex
from .learners import Tracker as Tracker
from .play import play as play
from .run import Run as Run
from .series import Forecaster as Forecaster

__version__: str
