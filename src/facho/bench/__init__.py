"""Side-by-side measurements, each of which prints a table."""
