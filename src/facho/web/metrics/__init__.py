"""`/metrics` for Prometheus: read from the database when it is asked for; the web collects nothing itself."""
