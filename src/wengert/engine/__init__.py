"""Derivatives without the compiler: graphs, primitives, transforms and passes."""
