"""Reports what happened: to the coordinator log, to the database and to people."""
