"""The name of autograd's class of arrays inside of transforms."""

from wengert.autograd.tracer import Box

ArrayBox = Box
