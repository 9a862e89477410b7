"""Benchmarks of facho: `python -m bench NAME`, or `facho bench NAME`, in a source checkout."""
