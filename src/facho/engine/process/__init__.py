"""The parts of an engine process: loops, the SNMP event loop, leases, transactions of commands."""
