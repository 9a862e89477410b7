"""What people see in a browser: the admin and the dashboard."""
