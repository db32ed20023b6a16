"""Wrappers with the interfaces of river and scikit-learn.

Each is imported when it is first asked for, and needs its own package:
`from stillpoint.estimators import river` or `sklearn`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
