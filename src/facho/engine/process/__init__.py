"""What one engine process needs to run: loops, the SNMP event loop, leases, transactions of commands."""
