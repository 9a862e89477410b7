"""Times with their seconds: a slot is an instant. The date as nobody can misread it."""

DATETIME_FORMAT = "Y-m-d H:i:s"
SHORT_DATETIME_FORMAT = "Y-m-d H:i:s"
