"""Fourier transforms: the operations, and the programs in their place in compiled code.

``transforms`` states the operations. `passes.fast_transforms` chooses the steps of a length, ``butterflies`` writes
them as a program, ``transform_nests`` as loops, and ``short_transforms`` a few points as expressions.
"""
