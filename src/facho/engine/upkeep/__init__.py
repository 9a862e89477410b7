"""Maintenance of the database and the system: retention, schema, storage, health, status, exports."""
