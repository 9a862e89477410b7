"""Where the profile of a family is from, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext_lazy as _

from facho.vendors.library import ProfileOrigin, current_library, profile_origin

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as Text

ORIGINS: Final[Mapping[ProfileOrigin, Text]] = {
    ProfileOrigin.BUILTIN: _("built-in"),
    ProfileOrigin.OWN: _("own profile"),
    ProfileOrigin.REPLACED: _("own profile, replaces the built-in one"),
    ProfileOrigin.BUILTIN_INSTEAD: _(
        "%(file)s cannot be used: the built-in profile is used instead; run facho doctor"
    ),
    ProfileOrigin.UNUSABLE: _("own profile, cannot be used"),
    ProfileOrigin.NONE: _("none"),
}


def profile_note(family: str) -> str:
    """Return a note for a family whose profile is the operator's; empty for the usual ones."""
    origin = profile_origin(family)
    return "" if origin in (ProfileOrigin.BUILTIN, ProfileOrigin.NONE) else profile_text(family)


def profile_text(family: str) -> str:
    """Return where the profile of a family is from."""
    origin = profile_origin(family)
    text = str(ORIGINS[origin])
    if origin is ProfileOrigin.BUILTIN_INSTEAD:
        return text % {"file": current_library().refused[family].path.name}
    return text
