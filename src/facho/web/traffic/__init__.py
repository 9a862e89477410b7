"""The traffic of all OLTs: who moves the most."""
