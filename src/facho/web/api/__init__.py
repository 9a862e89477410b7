"""The REST API. `v1/` has a module for each thing that can be asked for; the rest is what they share."""
