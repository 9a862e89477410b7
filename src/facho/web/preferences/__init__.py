"""The preferences of whoever is logged in."""
