"""The libraries that run the workloads: one file each, which imports its library."""
