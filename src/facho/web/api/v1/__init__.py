"""Version 1, at /api/v1/. What a client relies on here does not change; new fields may come."""
