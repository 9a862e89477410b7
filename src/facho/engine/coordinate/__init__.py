"""Keeps plans, quotas and forecasts in line with the configuration and with what really ran."""
