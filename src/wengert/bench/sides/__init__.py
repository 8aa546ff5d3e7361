"""The same training in each library, as its own documents say for speed; each is imported in a process of its own."""
