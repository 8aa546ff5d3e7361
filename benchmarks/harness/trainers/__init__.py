"""The same training in each library, as its own documents advise for speed; each is imported in its own process."""
