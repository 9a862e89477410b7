"""Texts of others to be translated: unfold has no Spanish, and that of Django is the one of Spain."""

from __future__ import annotations

from django.utils.translation import gettext_noop, ngettext_lazy

WORDS = (
    gettext_noop("Date"),
    gettext_noop("Date from"),
    gettext_noop("Date to"),
    gettext_noop("A valid biginteger is required."),
    gettext_noop("%(name)s with ID “%(key)s” doesn’t exist. Perhaps it was deleted?"),  # noqa: RUF001
    # Those of Django have the article of a masculine noun.
    gettext_noop("The {name} “{obj}” was added successfully."),
    gettext_noop("The {name} “{obj}” was added successfully. You may edit it again below."),
    gettext_noop("The {name} “{obj}” was added successfully. You may add another {name} below."),
    gettext_noop("The {name} “{obj}” was changed successfully."),
    gettext_noop("The {name} “{obj}” was changed successfully. You may edit it again below."),
    gettext_noop("The {name} “{obj}” was changed successfully. You may add another {name} below."),
    gettext_noop("The %(name)s “%(obj)s” was deleted successfully."),
    gettext_noop("Successfully deleted %(count)d %(items)s."),
    gettext_noop("Delete selected %(verbose_name_plural)s"),
    ngettext_lazy(
        "\n                Found %(counter)s result in %(time)s seconds\n            ",
        "\n                Found %(counter)s results in %(time)s seconds\n            ",
        0,
    ),
    gettext_noop("Select record"),
    gettext_noop("Select action"),
    gettext_noop("Select action to run"),
    gettext_noop("Select value"),
    gettext_noop("Select all rows"),
    gettext_noop("Run"),
    gettext_noop("Filters"),
    gettext_noop("Apply Filters"),
    gettext_noop("Reset filters"),
    gettext_noop("Type to search"),
    gettext_noop("Expand row"),
    gettext_noop("More actions"),
    gettext_noop("All applications"),
    gettext_noop("No data"),
    gettext_noop("No results found"),
    gettext_noop("This page yielded into no results. Create a new item or reset your filters."),
    gettext_noop("This item will be deleted."),
    gettext_noop("Click to cancel"),
    gettext_noop("Cancel"),
    gettext_noop("Submit"),
    gettext_noop("Save and add another"),
    gettext_noop("Add"),
    gettext_noop("Add %s"),
    gettext_noop("Add %(name)s"),
    gettext_noop("Go back"),
    gettext_noop("Previous"),
    gettext_noop("Next"),
    gettext_noop("General"),
    gettext_noop("Light"),
    gettext_noop("Dark"),
    gettext_noop("System"),
    gettext_noop("True"),
    gettext_noop("False"),
    gettext_noop("Welcome"),
    gettext_noop("Welcome back to"),
    gettext_noop("Return to site"),
    gettext_noop("Toggle password visibility"),
    gettext_noop("Search apps and models..."),
    gettext_noop("No results matching your query"),
    gettext_noop("Loading more results..."),
    gettext_noop("Recent searches"),
    gettext_noop("No recent searches"),
    gettext_noop("Forgotten your password or username?"),
    gettext_noop("After you've created a user, you’ll be able to edit more user options."),  # noqa: RUF001
    gettext_noop("You have been successfully logged out from the administration"),
    gettext_noop(
        "Raw passwords are not stored, so there is no way to see this user’s password, "  # noqa: RUF001
        "but you can change the password using "
        '<a href="{}" class="text-primary-600 dark:text-primary-500">this form</a>.'
    ),
)
