"""The page of an execution."""
