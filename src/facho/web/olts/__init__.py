"""The list of OLTs, and the page of an OLT."""
