from typing import Any

from django.db import migrations

# It takes 32 us a row. With the usual cost, PostgreSQL read all descriptions to find 20 with a word, while the
# index had entries that were not merged yet.
COST = "ALTER FUNCTION description_words(text) COST {cost}"


def _set(schema_editor: Any, cost: int) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(COST.format(cost=cost))


def raise_cost(_apps: Any, schema_editor: Any) -> None:
    _set(schema_editor, 10_000)


def restore_cost(_apps: Any, schema_editor: Any) -> None:
    _set(schema_editor, 100)


class Migration(migrations.Migration):
    dependencies = [("discovery", "0013_event_times")]

    operations = [migrations.RunPython(raise_cost, restore_cost)]
