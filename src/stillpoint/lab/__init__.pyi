from . import baselines as baselines
from . import online as online
from . import streams as streams
from .baselines import Bandit as Bandit
from .sweep import sweep as sweep
