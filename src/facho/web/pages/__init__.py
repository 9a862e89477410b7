"""The pages beside the admin, a module for each: the OLT, the port, the ONU, the search, the first run."""
