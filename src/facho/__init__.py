"""Facho Deluxe: collects SNMP data from the OLTs of fibre operators."""

__version__ = "0.1.0"
