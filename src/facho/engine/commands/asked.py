"""What a job asks for: facts by name, and OIDs by number."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from django.utils.translation import gettext as _

from facho.apps.hosts.models import Brand, Oid
from facho.apps.hosts.selectors import USUAL_SETS
from facho.apps.snmp_jobs.models import JobKind
from facho.engine.commands.errors import CommandError
from facho.snmp import Oid as Number
from facho.snmp.errors import BadOid
from facho.vendors import GENERIC, Entity
from facho.vendors.vocabulary import FACTS


def facts_known(brand: Brand) -> set[str]:
    """What a job of this brand may ask for: `serial`, `port.state`. A generic job finds out per OLT."""
    rows = Oid.objects.exclude(provides="")
    if not brand.is_generic:
        rows = rows.filter(brand__name__in=(brand.name, GENERIC))
    provided = {_written(entity, fact) for entity, fact in rows.values_list("entity", "provides").distinct()}
    if not brand.is_generic:
        return provided
    return provided | {_written(entity, fact) for entity, facts in FACTS.items() for fact in facts}


def _written(entity: str, fact: str) -> str:
    return fact if entity in ("", Entity.ONU) else f"{entity}.{fact}"


def check_facts(facts: Sequence[str], brand: Brand) -> list[str]:
    known = facts_known(brand) | USUAL_SETS
    wanted = list(dict.fromkeys(fact.strip() for fact in facts))
    for fact in wanted:
        if fact not in known:
            near = get_close_matches(fact, sorted(known), 3, 0.5)
            said = {"fact": fact, "brand": brand.name}
            sentence = _("'%(fact)s' is no fact that is known of %(brand)s") % said
            hint = _("; did you mean %(names)s?") % {"names": ", ".join(near)} if near else ""
            raise CommandError("facts", sentence + hint)
    return wanted


def check_enough(kind: str, facts: Sequence[str], oids: Sequence[str]) -> None:
    columns = len(facts) + len(oids)
    if kind == JobKind.GET and not facts:
        raise CommandError("facts", _("a get needs the facts that it asks ONUs for"))
    if kind == JobKind.WALK and columns != 1:
        raise CommandError("oids", _("a walk takes exactly one fact or OID"))
    if kind in (JobKind.TABLE, JobKind.BULK) and not columns:
        raise CommandError("oids", _("a %(kind)s needs at least one fact or OID") % {"kind": kind})


def find_oids(texts: Sequence[str], brand: Brand) -> list[Oid]:
    """Return the rows of the OID table; for a number that it lacks, a row of this brand that is not saved."""
    numbers = dict.fromkeys(map(number_of, texts))
    return [_find_or_draft(number, brand) for number in numbers]


def number_of(text: str, field: str = "oids") -> str:
    try:
        return str(Number.parse(text.strip()))
    except BadOid:
        raise CommandError(field, _("%(text)s: an OID is numbers with dots") % {"text": text}) from None


def _find_or_draft(number: str, brand: Brand) -> Oid:
    rows = list(Oid.objects.filter(oid=number).select_related("brand").order_by("id"))
    for name in (brand.name, GENERIC):
        for row in rows:
            if row.brand.name == name and row.model_id is None:
                return row
    # An operator's own row of another brand says nothing: any number may be tried with any brand.
    if foreign := [row.brand.name for row in rows if row.synced and row.brand_id != brand.id]:
        said = {"oid": number, "other": foreign[0], "brand": brand.name}
        raise CommandError("oids", _("%(oid)s is an OID of %(other)s, and the job is for %(brand)s") % said)
    return Oid(brand=brand, name=number, oid=number)
