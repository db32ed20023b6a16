"""Wrappers with the interfaces of river, scikit-learn and sktime.

Each is imported when it is first asked for, and needs its own package:
`from stillpoint.estimators import river`, `sklearn` or `sktime`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
