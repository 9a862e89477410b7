"""The page that counts ONUs and OLTs by version."""
