"""Where the profile of a family is from, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext_lazy as _

from facho.vendors.library import ProfileOrigin, profile_origin

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as Text

ORIGINS: Final[Mapping[ProfileOrigin, Text]] = {
    ProfileOrigin.BUILTIN: _("built-in"),
    ProfileOrigin.OWN: _("own profile"),
    ProfileOrigin.REPLACED: _("own profile, replaces the built-in one"),
    ProfileOrigin.UNUSABLE: _("own profile, cannot be used"),
    ProfileOrigin.NONE: _("none"),
}


def profile_note(family: str) -> str:
    """Return a note for a family whose profile is the operator's; empty for the usual ones."""
    origin = profile_origin(family)
    return "" if origin in (ProfileOrigin.BUILTIN, ProfileOrigin.NONE) else str(ORIGINS[origin])
