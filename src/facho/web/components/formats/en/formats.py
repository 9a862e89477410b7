"""Times with their seconds: a slot is an instant. The date as nobody can misread it."""

DATE_FORMAT = "Y-m-d"
SHORT_DATE_FORMAT = "Y-m-d"
DATETIME_FORMAT = "Y-m-d H:i:s"
SHORT_DATETIME_FORMAT = "Y-m-d H:i:s"
TIME_FORMAT = "H:i"
MONTH_DAY_FORMAT = "m-d"
