"""Stores collections, each as an ordered sequence of writers; small ones share a transaction."""
