"""Check what a job asks for: facts by name, and columns by OID."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from facho.apps.hosts.models import Brand, Oid
from facho.apps.hosts.selectors import USUAL_FACTS, USUAL_SETS, facts_offered, is_about_onus
from facho.apps.reason_words import reason_words
from facho.apps.snmp_jobs.models import JobKind
from facho.core.reasons import Reason
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import suggest_names
from facho.snmp import Oid as Number
from facho.snmp.errors import BadOid
from facho.vendors import GENERIC, Entity, known_facts, profile_of_family
from facho.vendors.facts import Kind, full_fact_name


def facts_of_brand(brand: Brand) -> set[str]:
    """Return the facts that a job of this brand may ask for: `serial`, `port.state`.

    A generic job may ask for every fact: which column provides it is looked up for each OLT. Nobody may ask
    for a rate, which is computed from a counter.
    """
    collected = {
        full_fact_name(entity, name)
        for entity, facts in known_facts().items()
        for name, fact in facts.items()
        if fact.kind is not Kind.RATE
    }
    if brand.is_generic:
        return collected
    rows = Oid.objects.filter(brand__name__in=(brand.name, GENERIC)).exclude(provides="")
    # The generic profile numbers interfaces: they are no ports of another family.
    rows = rows.exclude(brand__name=GENERIC, entity=Entity.PORT, profile_oid__gt="")
    pairs = rows.values_list("entity", "provides").distinct()
    # An own row may name a fact that was declared in a file which is gone.
    return collected & {full_fact_name(entity, fact) for entity, fact in pairs}


def check_facts(facts: Sequence[str], brand: Brand, kind: str) -> list[str]:
    """Return the facts that a job names, each once. Refuse those that nobody knows, that this brand has not,
    or that a job of this kind cannot ask for.
    """
    offered = facts_offered(profile_of_family(brand.name))
    sets = {name for name in USUAL_SETS if brand.is_generic or name in offered}
    known = facts_of_brand(brand) | sets
    wanted = list(dict.fromkeys(fact.strip() for fact in facts))
    for fact in wanted:
        if fact not in known:
            raise CommandError("facts", _refusal(fact, brand) + suggest_names(fact, sorted(known), 0.5))
        of_set = USUAL_FACTS[fact] if fact in USUAL_SETS else (fact,)
        if kind == JobKind.GET and not any(map(is_about_onus, of_set)):
            raise CommandError("facts", reason_words(Reason.of("not_about_onus", name=fact)))
    return wanted


def _refusal(fact: str, brand: Brand) -> str:
    entity, _dot, name = fact.rpartition(".")
    facts = known_facts()[Entity(entity)] if entity in set(Entity) else known_facts()[Entity.ONU]
    if name in facts and facts[name].kind is Kind.RATE:
        return _("'%(fact)s' is computed: ask for its counter") % {"fact": fact}
    return _("%(brand)s has no fact '%(fact)s'") % {"fact": fact, "brand": brand.name}


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
