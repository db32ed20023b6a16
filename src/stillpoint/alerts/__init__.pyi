from .changes import Change as Change
from .changes import Changes as Changes
