from . import baselines as baselines
from . import online as online
from . import streams as streams
from .baselines import Bandit as Bandit
from .bench.contenders import Contender as Contender
from .comparison import compare as compare
from .sweep import sweep as sweep
