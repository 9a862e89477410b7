"""Sends what was collected to a receiver of Prometheus remote write."""
