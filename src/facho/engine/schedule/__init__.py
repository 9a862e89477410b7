"""Turns due slots into executions, claims them for pollers and runs them; recovery and probes."""
