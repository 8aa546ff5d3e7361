"""What everything stands on: dtypes, shapes, trees, errors, private files."""
