"""The module in which early versions of SciPy had `logsumexp`."""

from wengert.autograd.scipy.special import logsumexp as logsumexp
