"""Times with their seconds: a slot is an instant."""

DATE_FORMAT = "d/m/Y"
SHORT_DATE_FORMAT = "d/m/Y"
DATETIME_FORMAT = "d/m/Y H:i:s"
SHORT_DATETIME_FORMAT = "d/m/Y H:i:s"
TIME_FORMAT = "H:i"
MONTH_DAY_FORMAT = "d/m"
