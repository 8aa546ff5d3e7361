"""NumPy evaluations of the primitives that NumPy has no single call for."""
