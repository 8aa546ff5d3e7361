"""A compiled function without Python: entries, constants and error texts as one program."""
