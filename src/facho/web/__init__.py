"""The web interface: pages, admin, API and metrics."""
