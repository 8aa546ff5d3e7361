"""Special functions.

``error_and_gamma``, ``compositions`` and ``bessel`` are native in compiled programs. The values of ``scipy_functions``,
``gammas``, ``complex_variable`` and ``table`` are SciPy's; ``scipy_ufuncs`` states such a function. ``incomplete``,
``orders`` and ``differences`` are derivatives in parameters, ``densities`` and ``discrete_quantiles`` those of
distributions.
"""
