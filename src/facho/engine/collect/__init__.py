"""Asks one OLT for the parts of one execution and decodes the answers. Writes nothing to the database."""
