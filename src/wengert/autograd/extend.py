"""autograd's ways to add functions with rules of their own: see `wengert.autograd`."""

from wengert.autograd.primitives import def_linear as def_linear
from wengert.autograd.primitives import defjvp as defjvp
from wengert.autograd.primitives import defjvp_argnum as defjvp_argnum
from wengert.autograd.primitives import defjvp_argnums as defjvp_argnums
from wengert.autograd.primitives import defvjp as defvjp
from wengert.autograd.primitives import defvjp_argnum as defvjp_argnum
from wengert.autograd.primitives import defvjp_argnums as defvjp_argnums
from wengert.autograd.primitives import notrace_primitive as notrace_primitive
from wengert.autograd.primitives import primitive as primitive
from wengert.autograd.primitives import register_notrace as register_notrace
from wengert.autograd.spaces import SparseObject as SparseObject
from wengert.autograd.spaces import VSpace as VSpace
from wengert.autograd.spaces import vspace as vspace
from wengert.autograd.tracer import Box as Box
from wengert.autograd.tracer import JVPNode as JVPNode
from wengert.autograd.tracer import VJPNode as VJPNode

__all__ = ["defjvp", "defvjp", "primitive", "vspace"]
__dir__ = __all__.copy
