"""Decides what runs now, and runs it: due slots, claims, pollers, recovery, probes."""
