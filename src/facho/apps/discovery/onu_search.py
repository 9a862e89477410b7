"""Finding ONUs by their serial, MAC, description or interface, or by a part of these.

A search takes a time that does not grow with the number of ONUs: first those whose serial, MAC or description
begins with the text, then those whose description has its words, then those that have it in the middle.
PostgreSQL finds the middle by trigrams, and not at all without them; SQLite reads its index of serials.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final, NamedTuple

from django.db.models import F, Func, Q, QuerySet, TextField, Value
from django.db.models.functions import Upper
from django.db.models.lookups import Contains

from facho.apps.db.database import has_index, is_embedded
from facho.apps.db.prefix import begins_with, begins_with_any_case
from facho.apps.discovery.description_search import words_condition
from facho.apps.discovery.models import Onu, Presence
from facho.apps.discovery.selectors import (
    interface_of,
    onus_down_by,
    onus_in_state,
    weak_onus,
    with_duplicate_serial,
)
from facho.apps.hosts.models import Olt
from facho.vendors import rules
from facho.vendors.errors import BadValue

# A shorter text would find most of them.
SHORTEST: Final = 3
# Nobody reads more; a person who wants others types more.
MOST: Final = 1000
# Not in the models: SQLite has no such index, and PostgreSQL has it only with pg_trgm.
INDEX: Final = "onu_data_searched"
_SEPARATORS: Final = re.compile(r"[-:.\s]")
_HEX: Final = re.compile(r"[0-9a-f]{1,12}")
# The four letters of a vendor as hexadecimal digits, and what follows.
_VENDOR_IN_HEX: Final = re.compile(r"((?:[3-7][0-9A-F]){4})([0-9A-F]{0,8})")
_IP_START: Final = re.compile(r"\d{1,3}\.[\d.]{0,11}", re.ASCII)
_NUMBER: Final = re.compile(r"\d{1,9}", re.ASCII)
_INTERFACE: Final = re.compile(r"(?:(\d{1,9})/)?(?:(\d{1,9})/)?(\d{1,9}):(\d{1,9})")


class SearchedText(Func):
    """Serial, MAC and description of an ONU in capitals, as the trigram index has them.

    The MAC is without separators: three characters in a row with a colon among them occur in too many MACs.
    """

    template = "upper(%(expressions)s)"
    arg_joiner = " || ' ' || "
    output_field = TextField()

    def __init__(self) -> None:
        super().__init__("serial", Func("mac", template="replace(%(expressions)s, ':', '')"), "description")


class IndexQuery(NamedTuple):
    """A question to one index, and the order in which no more rows are read than are wanted."""

    condition: Q
    order: Any


def search_onus(text: str, most: int = MOST, rows: QuerySet[Onu] | None = None) -> list[int]:
    """Return the ids of the first ONUs that have the text, of these rows or of all."""
    among = Onu.objects.all() if rows is None else rows
    ids: dict[int, None] = {}
    if len(text := text.strip()) < SHORTEST:
        return []
    # Without other conditions no more have to be looked at than are wanted.
    for query in _queries(text, None if among.query.where else most):
        if len(ids) >= most:
            break
        ordered = among.filter(query.condition).order_by(*([] if query.order is None else [query.order]))
        ids.update(dict.fromkeys(ordered.values_list("id", flat=True)[:most]))
    return list(ids)[:most]


def _queries(text: str, most: int | None) -> Iterator[IndexQuery]:
    yield from prefix_queries(text)
    if words := words_condition(text, most):
        yield IndexQuery(words, None)
    if is_embedded():
        yield IndexQuery(Q(serial__contains=serials_of(text)[0]), "serial")
    elif has_trigrams():
        yield IndexQuery(_contains_words(text), None)


def prefix_queries(text: str) -> list[IndexQuery]:
    """Return queries for texts that begin so: in any case, serials and MACs with any separators."""
    queries = [begins_with("serial", serial) for serial in serials_of(text)]
    if mac := mac_of(text):
        queries.append(begins_with("mac", mac))
    if _IP_START.fullmatch(text):
        condition, order = begins_with("ip", text)
        # As the index has it, which leaves out the ONUs without an address.
        queries.append((condition & ~Q(ip=""), order))
    return [IndexQuery(*each) for each in (*queries, begins_with_any_case("description", text))]


def serials_of(text: str) -> list[str]:
    """Return a serial, or the beginning of one, in the forms in which it may be stored: as it is, in
    capitals, and with the letters of its vendor where the text has them as hexadecimal digits.
    """
    letters = _SEPARATORS.sub("", text)
    forms = [letters.upper(), letters]
    if in_hex := _VENDOR_IN_HEX.fullmatch(letters.upper()):
        forms.append(bytes.fromhex(in_hex[1]).decode("ascii") + in_hex[2])
    return list(dict.fromkeys(forms))


def mac_of(text: str) -> str:
    """Return a MAC, or a part of one that begins with an octet; empty if the text is none."""
    letters = _SEPARATORS.sub("", text).lower()
    return ":".join(re.findall("..?", letters)) if _HEX.fullmatch(letters) else ""


def _contains_words(text: str) -> Q:
    """Match every word of the text, anywhere; or all of it as a part of a serial or a MAC."""
    words = text.split()
    found = Q(*(_contains(_forms(word)) for word in words))
    known = _forms(text) if len(words) == 1 else set()
    parts = {part.upper() for part in serials_of(text)} - known
    return found | _contains(part for part in parts if len(part) >= SHORTEST)


def _forms(word: str) -> set[str]:
    """Return a word as it may be in the searched text: a part of a MAC is there without separators."""
    return {word.upper(), _SEPARATORS.sub("", word).upper() if mac_of(word) else word.upper()}


def _contains(parts: Iterable[str]) -> Q:
    """Match any of these."""
    found = Q()
    for part in sorted(parts):
        # The database's own capitals: it may know fewer letters than Python.
        found |= Q(Contains(SearchedText(), Upper(Value(part))))
    return found


def has_trigrams() -> bool:
    """Tell whether the trigram index is there: a database may be without the extension."""
    return has_index(INDEX)


def filter_onus(
    olt: Olt | None = None,
    *,
    search: str = "",
    state: str = "",
    status: str = "",
    cause: str = "",
    weak: bool = False,
    presence: str = "",
    duplicates: bool = False,
    model: str = "",
    sw_version: str = "",
    hw_version: str = "",
    silent: Collection[int] = (),
) -> QuerySet[Onu]:
    """Return ONUs ordered by OLT and place. All words of `search` must be in serial, MAC or description,
    there also with other accents where a word begins. `silent` are the OLTs that deliver nothing.

    Without a trigram index this reads every ONU of the OLT.
    """
    given = {
        "olt": olt,
        "state": state,
        "presence": presence,
        "model": model,
        "sw_version": sw_version,
        "hw_version": hw_version,
    }
    onus = Onu.objects.filter(**{field: value for field, value in given.items() if value})
    if status:
        onus = onus_in_state(onus, silent, status)
    if cause:
        onus = onus_down_by(onus, silent, cause)
    if weak:
        onus = weak_onus(onus)
    if duplicates:
        onus = with_duplicate_serial(onus)
    for word in search.split():
        onus = onus.filter(_has_word(word))
    # Databases differ in where they sort what has no number.
    numbers = (F(part).asc(nulls_first=True) for part in ("frame", "slot", "port", "onu_id"))
    return onus.order_by("olt__name", *numbers, "extra", "id")


def _has_word(word: str) -> Q:
    accented = words_condition(word) or Q()
    if is_embedded():
        return accented | Q(serial__icontains=word) | Q(mac__icontains=word) | Q(description__icontains=word)
    return accented | _contains(_forms(word))


def onus_named(name: str, olt: Olt | None = None) -> list[Onu]:
    """Return the ONUs with this serial or MAC in any form; on an OLT also that at this interface.

    Absent ones are returned only if none is present.
    """
    onus = filter_onus(olt).select_related("olt").defer("olt__credentials")
    identity = _identity_condition(name)
    found = list(onus.filter(identity)) if identity else []
    if not found and olt is not None:
        found = [onu for onu in onus.filter(_place_condition(name)) if _is_at(onu, name)]
    return [onu for onu in found if onu.presence == Presence.PRESENT] or found


def onus_at(interface: str, olt_ids: Collection[int]) -> list[Onu]:
    """Return the ONUs that are at this interface now, at most one for each of these OLTs."""
    onus = filter_onus().filter(_place_condition(interface), olt__in=olt_ids, address__isnull=False)
    return [onu for onu in onus.select_related("olt").defer("olt__credentials") if _is_at(onu, interface)]


def onus_with_words(text: str, olt: Olt | None, most: int) -> list[Onu]:
    """Return some ONUs for a person who remembers a part of the name."""
    ids = search_onus(text, most, None if olt is None else Onu.objects.filter(olt=olt))
    return list(filter_onus().filter(id__in=ids).select_related("olt").defer("olt__credentials"))


def is_interface(name: str) -> bool:
    return _INTERFACE.fullmatch(name.strip()) is not None


def _identity_condition(name: str) -> Q:
    wanted = Q()
    for serial in _whole_serials(name.strip()):
        wanted |= Q(serial=serial)
    with contextlib.suppress(BadValue):
        if mac := rules.mac(name.strip().encode()):
            wanted |= Q(mac=mac)
    return wanted


def _whole_serials(name: str) -> Iterator[str]:
    """Yield a serial as it is written, and as facho writes it."""
    if name:
        yield from dict.fromkeys((name, name.upper()))
    with contextlib.suppress(BadValue):
        if (serial := rules.serial(name.replace("-", "").upper().encode())) is not None:
            yield serial


def _place_condition(name: str) -> Q:
    number = name.strip().rpartition(":")[2]
    as_text = Q(extra__in=(name, number)) | Q(raw_index=name)
    place = _INTERFACE.fullmatch(name.strip())
    if place is None:
        return as_text | Q(port=None, onu_id=int(number)) if _NUMBER.fullmatch(number) else as_text
    # Of two numbers before the ONU the first is the slot.
    *before, port, onu = (int(found) for found in place.groups() if found is not None)
    wanted = Q(port=port, onu_id=onu)
    for part, value in zip(("slot", "frame"), reversed(before), strict=False):
        wanted &= Q(**{part: value})
    return wanted | as_text


def _is_at(onu: Onu, name: str) -> bool:
    """The interfaces of an OLT without frames or slots do not name them."""
    return name.strip() in (interface_of(onu), onu.extra, onu.raw_index)
