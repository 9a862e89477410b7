"""The dashboard: what runs now, the timeline, and the overview."""
