"""The page of a PON port."""
