"""Adding the first OLTs: the OLT, its usual jobs, and their first results."""
