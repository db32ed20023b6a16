from . import baselines as baselines
from . import streams as streams
from .sweep import sweep as sweep
