"""The harness of comparisons: contestants in processes of their own, which take turns."""
