"""Check what a job asks for: facts by name, and columns by OID."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from facho.apps.hosts.models import Brand, Oid
from facho.apps.hosts.selectors import USUAL_SETS
from facho.apps.snmp_jobs.models import JobKind
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import suggest_names
from facho.snmp import Oid as Number
from facho.snmp.errors import BadOid
from facho.vendors import GENERIC, known_facts
from facho.vendors.facts import Kind, full_fact_name


def facts_of_brand(brand: Brand) -> set[str]:
    """Return the facts that a job of this brand may ask for: `serial`, `port.state`.

    A generic job may ask for every fact: which column provides it is looked up for each OLT. Nobody may ask
    for a rate, which is computed from a counter.
    """
    rows = Oid.objects.exclude(provides="")
    if not brand.is_generic:
        rows = rows.filter(brand__name__in=(brand.name, GENERIC))
    pairs = rows.values_list("entity", "provides").distinct()
    provided = {full_fact_name(entity, fact) for entity, fact in pairs}
    if not brand.is_generic:
        return provided
    return provided | {
        full_fact_name(entity, name)
        for entity, facts in known_facts().items()
        for name, fact in facts.items()
        if fact.kind is not Kind.RATE
    }


def check_facts(facts: Sequence[str], brand: Brand) -> list[str]:
    known = facts_of_brand(brand) | USUAL_SETS
    wanted = list(dict.fromkeys(fact.strip() for fact in facts))
    for fact in wanted:
        if fact not in known:
            sentence = _("%(brand)s has no fact '%(fact)s'") % {"fact": fact, "brand": brand.name}
            raise CommandError("facts", sentence + suggest_names(fact, sorted(known), 0.5))
    return wanted


def check_column_count(kind: str, facts: Sequence[str], oids: Sequence[str]) -> None:
    columns = len(facts) + len(oids)
    if kind == JobKind.GET and not facts:
        raise CommandError("facts", _("a get needs at least one fact"))
    if kind == JobKind.WALK and columns != 1:
        raise CommandError("oids", _("a walk takes exactly one fact or OID"))
    if kind in (JobKind.TABLE, JobKind.BULK) and not columns:
        raise CommandError("oids", _("a %(kind)s needs at least one fact or OID") % {"kind": kind})


def find_oids(texts: Sequence[str], brand: Brand) -> list[Oid]:
    """Return the rows of the OID table; for an OID that it lacks, an unsaved row of this brand."""
    numbers = dict.fromkeys(map(parse_oid, texts))
    return [_find_or_draft(number, brand) for number in numbers]


def parse_oid(text: str, field: str = "oids") -> str:
    try:
        return str(Number.parse(text.strip()))
    except BadOid:
        sentence = _("%(text)s: an OID consists of numbers and dots") % {"text": text}
        raise CommandError(field, sentence) from None


def _find_or_draft(number: str, brand: Brand) -> Oid:
    rows = list(Oid.objects.filter(oid=number).select_related("brand").order_by("id"))
    for name in (brand.name, GENERIC):
        for row in rows:
            if row.brand.name == name and row.model_id is None:
                return row
    # An operator's own row of another brand is no obstacle: any OID may be tried with any brand.
    if foreign := [row.brand.name for row in rows if row.synced and row.brand_id != brand.id]:
        values = {"oid": number, "other": foreign[0], "brand": brand.name}
        raise CommandError("oids", _("%(oid)s is an OID of %(other)s, and the job is for %(brand)s") % values)
    return Oid(brand=brand, name=number, oid=number)
