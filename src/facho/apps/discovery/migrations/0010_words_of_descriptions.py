from typing import Any

from django.db import migrations

# A copy of `facho.core.search_words.folded_characters`: letters with accents, signs that separate words, and
# accents that stand alone, which vanish.
LETTERS = (
    "ÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖÙÚÛÜÝàáâãäåçèéêëìíîïñòóôõöùúûüýÿĀāĂăĄąĆćĈĉĊċČčĎďĒēĔĕĖėĘęĚěĜĝĞğĠġĢģĤĥĨ"
    "ĩĪīĬĭĮįİĴĵĶķĹĺĻļĽľŃńŅņŇňŌōŎŏŐőŔŕŖŗŘřŚśŜŝŞşŠšŢţŤťŨũŪūŬŭŮůŰűŲųŴŵŶŷŸŹźŻżŽž"
)
BASES = (
    "aaaaaaceeeeiiiinooooouuuuyaaaaaaceeeeiiiinooooouuuuyyaaaaaaccccccccddeeeeeeeeeegggggggghhi"
    "iiiiiiiijjkkllllllnnnnnnoooooorrrrrrssssssssttttuuuuuuuuuuuuwwyyyzzzzzz"
)
SIGNS = "".join(
    chr(code)
    for code in (*range(1, 0xC0), 0xD7, 0xF7, *range(0x2000, 0x2070))
    if code != 0xB5 and not (code < 128 and chr(code).isalnum())
)
ACCENTS = "".join(map(chr, range(0x300, 0x370)))
# The longest word that an index can have is 2,046 bytes: one in the description of an ONU must not keep the
# ONU from being stored.
FUNCTION = """
CREATE FUNCTION description_words(description text) RETURNS tsvector
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
SELECT array_to_tsvector(array_remove(string_to_array(
    lower(translate(left(description, 500), {characters}, {folded})), ' '), ''))
$$"""
INDEX = "CREATE INDEX onu_data_description_words ON onu_data USING gin (description_words(description))"


def make(_apps: Any, schema_editor: Any) -> None:
    """On PostgreSQL; what SQLite has is made after each `migrate`."""
    if schema_editor.connection.vendor != "postgresql":
        return
    characters = schema_editor.quote_value(LETTERS + SIGNS + ACCENTS)
    folded = schema_editor.quote_value(BASES + " " * len(SIGNS))
    schema_editor.execute(FUNCTION.format(characters=characters, folded=folded), params=None)
    schema_editor.execute(INDEX)


def drop(_apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP INDEX IF EXISTS onu_data_description_words")
        schema_editor.execute("DROP FUNCTION IF EXISTS description_words(text)")


class Migration(migrations.Migration):
    dependencies = [("discovery", "0009_quicker_search_and_counts")]

    operations = [migrations.RunPython(make, drop)]
