"""Loop nests: the representation that the compiler's passes transform."""
