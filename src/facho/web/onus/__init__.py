"""The page of an ONU, the worst ONUs, and the unprovisioned ONUs."""
