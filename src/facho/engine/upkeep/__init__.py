"""Keeps the database small, upgraded and healthy: retention, history, schema, health checks, exports."""
