"""The Wengert list: types, the graph, its text."""
