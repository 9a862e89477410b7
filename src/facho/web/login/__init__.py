"""The login page and the password change."""
