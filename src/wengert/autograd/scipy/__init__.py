"""SciPy's functions under autograd's names, as functions that transforms follow.

Example:
    >>> from wengert.autograd import grad
    >>> from wengert.autograd.scipy.stats import norm
    >>> print(grad(norm.logpdf)(1.0))
    -1.0
"""

from wengert.autograd.scipy import integrate as integrate
from wengert.autograd.scipy import linalg as linalg
from wengert.autograd.scipy import signal as signal
from wengert.autograd.scipy import special as special
from wengert.autograd.scipy import stats as stats
