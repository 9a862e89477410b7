"""Times with their seconds: a slot is an instant. Digits are grouped by points, as in South America."""

DATE_FORMAT = "d/m/Y"
SHORT_DATE_FORMAT = "d/m/Y"
DATETIME_FORMAT = "d/m/Y H:i:s"
SHORT_DATETIME_FORMAT = "d/m/Y H:i:s"
TIME_FORMAT = "H:i"
MONTH_DAY_FORMAT = "d/m"
THOUSAND_SEPARATOR = "."
