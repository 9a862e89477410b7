"""Decisions as pure functions and frozen values. Imports the standard library alone and does no I/O.

The time is always an argument, an aware datetime in UTC, so that every rule can be tested at any instant.
"""
