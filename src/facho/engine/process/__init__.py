"""The parts of an engine process: loops, leases, transactions of commands."""
