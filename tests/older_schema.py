"""How a test takes a database back to an earlier version: these migrations are forgotten.

They are the last ones of their app, so that a migration has something to do. They change no table, and find
nothing to do the second time; the first one binds secrets to their rows.
"""

from typing import Final

APP: Final = "notifications"
BINDING: Final = "0003_addresses_of_one_channel"
LAST: Final = "0004_notices_of_unreadable_rows"
FORGOTTEN: Final = (BINDING, LAST)
