"""Parts that several pages show: charts, quota bars, events, formats, template tags."""
