"""Stores a collection in one transaction, as an ordered sequence of writers."""
