"""The spaces of arrays."""

from wengert.autograd.spaces import ArrayVSpace as ArrayVSpace
from wengert.autograd.spaces import ComplexArrayVSpace as ComplexArrayVSpace
