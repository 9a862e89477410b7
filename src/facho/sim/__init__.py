"""A fleet of simulated OLTs on UDP: fast, with the tables of real brands and the faults of real agents."""
