"""What a web process does before its first request, so that no request waits for it later."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from django.apps import apps
from django.conf import settings
from django.template import TemplateDoesNotExist, TemplateSyntaxError, engines
from django.template.loader import get_template
from django.urls import get_resolver
from django.utils import translation

# A thread that computes gives way to others after this. A poll waits for its turn about six times, and with
# Python's 5 ms each of them it would take longer than the page whose rendering it waits for.
_SWITCH_S: Final = 0.0005
# The folders of unfold's templates that pages are made of.
_FRAMES: Final = ("admin", "unfold")


def prepare_process() -> None:
    """Load the pages and their templates, and exempt them from garbage collection.

    A full collection looks at all objects of the process while every request waits: 100 ms for the 180,000 of
    the loaded pages, 1 ms without them.
    """
    sys.setswitchinterval(_SWITCH_S)
    for language, _name in settings.LANGUAGES:
        with translation.override(language):
            # Loads all views, and resolves their names in this language.
            _ = get_resolver().reverse_dict
    for name in _template_names():
        # What cannot be loaded is reported by the page that needs it.
        with contextlib.suppress(TemplateDoesNotExist, TemplateSyntaxError):
            get_template(name)
    gc.collect()
    gc.freeze()


def _template_names() -> Iterator[str]:
    ours = map(Path, engines["django"].engine.dirs)  # type: ignore[attr-defined]  # of Django's own engine
    frame = Path(apps.get_app_config("unfold").path) / "templates"
    for folder, pattern in (
        *((each, "**/*.html") for each in ours),
        *((frame, f"{f}/**/*.html") for f in _FRAMES),
    ):
        for path in folder.glob(pattern):
            yield str(path.relative_to(folder))
