"""The successor of autograd: its names with its meaning, on Wengert's transforms.

`install` puts it in autograd's place, so that programs and libraries that import autograd run on Wengert; so does the
command ``python -m wengert.autograd program.py``. `wengert.autograd.numpy` and `wengert.autograd.scipy` have the names
of NumPy's and SciPy's functions.

Example:
    >>> import wengert.autograd.numpy as np
    >>> from wengert.autograd import elementwise_grad
    >>> elementwise_grad(np.tanh)(np.zeros(2))
    array([1., 1.])
"""

from wengert.autograd import core as core
from wengert.autograd import extend as extend
from wengert.autograd import misc as misc
from wengert.autograd import numpy as numpy
from wengert.autograd.builtins import dict as dict
from wengert.autograd.builtins import isinstance as isinstance
from wengert.autograd.builtins import list as list
from wengert.autograd.builtins import tuple as tuple
from wengert.autograd.builtins import type as type
from wengert.autograd.extend import primitive as primitive
from wengert.autograd.installing import install as install
from wengert.autograd.operators import checkpoint as checkpoint
from wengert.autograd.operators import deriv as deriv
from wengert.autograd.operators import elementwise_grad as elementwise_grad
from wengert.autograd.operators import grad as grad
from wengert.autograd.operators import grad_and_aux as grad_and_aux
from wengert.autograd.operators import grad_named as grad_named
from wengert.autograd.operators import hessian as hessian
from wengert.autograd.operators import hessian_tensor_product as hessian_tensor_product
from wengert.autograd.operators import hessian_vector_product as hessian_vector_product
from wengert.autograd.operators import holomorphic_grad as holomorphic_grad
from wengert.autograd.operators import jacobian as jacobian
from wengert.autograd.operators import make_ggnvp as make_ggnvp
from wengert.autograd.operators import make_hvp as make_hvp
from wengert.autograd.operators import make_jvp as make_jvp
from wengert.autograd.operators import make_jvp_reversemode as make_jvp_reversemode
from wengert.autograd.operators import make_vjp as make_vjp
from wengert.autograd.operators import multigrad as multigrad
from wengert.autograd.operators import multigrad_dict as multigrad_dict
from wengert.autograd.operators import tensor_jacobian_product as tensor_jacobian_product
from wengert.autograd.operators import value_and_grad as value_and_grad
from wengert.autograd.operators import vector_jacobian_product as vector_jacobian_product

__all__ = [
    "checkpoint", "deriv", "elementwise_grad", "grad", "grad_and_aux", "grad_named", "hessian",
    "hessian_tensor_product", "hessian_vector_product", "holomorphic_grad", "install", "jacobian", "make_ggnvp",
    "make_hvp", "make_jvp", "make_jvp_reversemode", "make_vjp", "multigrad", "multigrad_dict", "primitive",
    "tensor_jacobian_product", "value_and_grad", "vector_jacobian_product",
]  # fmt: skip
__dir__ = __all__.copy
