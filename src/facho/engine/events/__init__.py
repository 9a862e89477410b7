"""Publishes events to the coordinator log (file and table) and to notifications."""
