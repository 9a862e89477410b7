"""The only seam between the two ways to run: how an execution's id reaches a poller."""
