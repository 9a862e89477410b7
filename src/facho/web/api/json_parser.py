"""A JSON parser with limits on length, depth and the size of lists."""

from __future__ import annotations

import io
from collections.abc import Mapping
from json import JSONDecodeError
from typing import Any, Final

from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import JSONParser

from facho.web.server.slow_clients import RequestTooLong

# The largest list in a request.
MOST_ITEMS: Final = 10_000
LONGEST: Final = 1_000_000
# The deepest nesting of lists and objects.
DEEPEST: Final = 20


class LimitedJson(JSONParser):
    """Refuse what is too large before its items are validated."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        body = stream.read(LONGEST + 1)
        if len(body) > LONGEST:
            raise RequestTooLong
        try:
            given = super().parse(io.BytesIO(body), media_type, parser_context)
        except RecursionError:
            raise _nested_too_deeply() from None
        except ParseError as error:
            raise _not_json(error.__context__) from None
        _refuse_long_or_deep(given)
        return given


def _not_json(problem: BaseException | None) -> ParseError:
    if isinstance(problem, JSONDecodeError):
        place = {"line": problem.lineno, "column": problem.colno}
        return ParseError(_("this is not JSON: see line %(line)d, column %(column)d") % place)
    return ParseError(_("this is not JSON"))


def _nested_too_deeply() -> ParseError:
    return ParseError(_("lists and objects are nested more than %d deep") % DEEPEST)


def _refuse_long_or_deep(given: Any) -> None:
    """Check without recursion: deep nesting would exhaust the stack."""
    left = [("", 0, given)]
    while left:
        field, depth, each = left.pop()
        if not isinstance(each, (list, Mapping)):
            continue
        if depth >= DEEPEST:
            raise _nested_too_deeply()
        if isinstance(each, Mapping):
            left += ((f"{field}.{name}".strip("."), depth + 1, inner) for name, inner in each.items())
            continue
        if len(each) > MOST_ITEMS:
            said = _("%(count)d were given, and at most %(most)d are allowed")
            raise ValidationError(
                {field or "non_field_errors": [said % {"count": len(each), "most": MOST_ITEMS}]}
            )
        left += ((field, depth + 1, inner) for inner in each)
