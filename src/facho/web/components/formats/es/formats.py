"""Times with their seconds: a slot is an instant."""

DATETIME_FORMAT = "d/m/Y H:i:s"
SHORT_DATETIME_FORMAT = "d/m/Y H:i:s"
