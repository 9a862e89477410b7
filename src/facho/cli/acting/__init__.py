"""What commands do once Django is set up. Imported inside `system()` alone."""
