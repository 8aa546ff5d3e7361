"""Loop nests: what the compiler's passes work on."""
