"""Middleware, and the limits of requests and queries."""
