"""Calls of compiled programs: arguments, results, errors, threads."""
