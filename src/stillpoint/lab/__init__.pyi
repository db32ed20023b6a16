from . import baselines as baselines
from . import online as online
from . import streams as streams
from .sweep import sweep as sweep
