"""Add, change, enable and disable OLTs."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from django.db import IntegrityError, transaction
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from facho.apps.access.audited import note_rows
from facho.apps.access.words import Action
from facho.apps.discovery.models import UnreadableRows
from facho.apps.hosts.credentials import Credentials
from facho.apps.hosts.models import Brand, Olt, OltModel, SnmpVersion
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import current
from facho.engine.commands.checks import LARGEST, line_of, name_of, no_such, whole_between
from facho.engine.commands.credentials import check_credentials, check_version
from facho.engine.commands.errors import CommandError
from facho.engine.commands.nodes import NOT_SUSPENDED, start_anew
from facho.engine.coordinate.changes import ReplanResult, replan
from facho.engine.process.command_transaction import command
from facho.vendors import GENERIC

if TYPE_CHECKING:
    from facho.engine.collect.identify import Identified

AUTO: Final = "auto"
_HOST_NAME: Final = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_LONGEST_ADDRESS: Final = 253
_LONGEST_INTERVAL_S: Final = 366 * 86_400


@dataclass(frozen=True, slots=True)
class OltLimits:
    """How gently this OLT must be asked. None is the setting for all."""

    max_in_flight: int | None = None
    max_varbinds: int | None = None
    max_requests_per_second: float | None = None
    shortest_interval_s: int | None = None


@dataclass(frozen=True, slots=True)
class NewOlt:
    """`brand` is the name of a profile, or "auto": what the OLT says that it is. No `port` is the setting."""

    name: str
    address: str
    port: int | None = None
    version: str = SnmpVersion.V2C.value
    credentials: Credentials = field(default_factory=lambda: Credentials(community="public"))
    brand: str = AUTO
    site: str = ""
    limits: OltLimits = OltLimits()
    enabled: bool = True
    # One of its brand. None is what the OLT says.
    model: str | None = None


@dataclass(frozen=True, slots=True)
class OltChanges:
    """What is not None changes. `model` "" is none."""

    name: str | None = None
    address: str | None = None
    port: int | None = None
    version: str | None = None
    credentials: Credentials | None = None
    brand: str | None = None
    site: str | None = None
    limits: OltLimits | None = None
    model: str | None = None


@command
def add_olt(new: NewOlt, *, detected: Identified | None = None) -> Olt:
    """`detected` is what the OLT said when it was asked; "auto" cannot do without."""
    name = name_of(new.name)
    brand = brand_for(new.brand, detected)
    olt = Olt(
        name=name,
        brand=brand,
        model=_model_of(brand, detected) if new.model is None else model_named(brand, new.model),
        address=address_of(new.address),
        port=port_of(current().snmp_port if new.port is None else new.port),
        snmp_version=check_version(new.version),
        site=_site_of(new.site),
        enabled=new.enabled,
        **_limits_of(new.limits),
    )
    olt.credentials = check_credentials(new.version, new.credentials)
    if detected is not None:
        olt.sys_descr, olt.sys_object_id = detected.sys_descr, detected.sys_object_id[:200]
    _save(olt)
    return olt


def check_new(new: NewOlt) -> NewOlt:
    """All that can be refused before the OLT is asked what it is. Its address as it is saved."""
    name = name_of(new.name)
    if Olt.objects.filter(name=name).exists():
        raise _taken(name)
    if new.port is not None:
        port_of(new.port)
    check_credentials(check_version(new.version), new.credentials)
    _limits_of(new.limits)
    return replace(new, address=address_of(new.address))


@command
def update_olt(name: str, changes: OltChanges, now: datetime, *, detected: Identified | None = None) -> Olt:
    """Only what changes is written: the engine has columns of its own in the row."""
    olt = olt_named(name)
    changed = _changed(olt, changes, detected)
    for column, value in changed.items():
        setattr(olt, column, value)
    if changed:
        _save(olt, list(changed))
        if set(_OF_THE_DEVICE) <= changed.keys():
            UnreadableRows.objects.filter(olt=olt).delete()
        replan([olt.id], now)
    return olt


def _changed(olt: Olt, changes: OltChanges, detected: Identified | None) -> dict[str, Any]:
    version = changes.version or olt.snmp_version
    found: dict[str, Any] = {}
    if changes.name is not None and changes.name.strip() != olt.name:
        found["name"] = name_of(changes.name)
    if changes.address is not None:
        found["address"] = address_of(changes.address)
    if changes.port is not None:
        found["port"] = port_of(changes.port)
    if changes.version is not None or changes.credentials is not None:
        found["snmp_version"] = check_version(version)
        found["credentials"] = check_credentials(version, changes.credentials or olt.credentials)
    if changes.site is not None:
        found["site"] = _site_of(changes.site)
    if changes.limits is not None:
        found |= _limits_of(changes.limits)
        _refuse_running_faster(olt, changes.limits.shortest_interval_s)
    if changes.brand is not None:
        found |= _changed_brand(olt, brand_for(changes.brand, detected), detected)
    if changes.model is not None:
        found["model"] = model_named(found.get("brand", olt.brand), changes.model)
    if any(getattr(olt, column) != found[column] for column in _ANOTHER_DEVICE if column in found):
        found |= {column: getattr(Olt(), column) for column in _OF_THE_DEVICE}
    return found


# What makes it another device, as far as anybody knows; and what was found out about the one before.
_ANOTHER_DEVICE: Final = ("address", "port", "brand")
_OF_THE_DEVICE: Final = ("lacks", "version", "uptime_s", "uptime_read_at", "cpu_pct", "cpu_read_at")


def _changed_brand(olt: Olt, brand: Brand, detected: Identified | None) -> dict[str, Any]:
    if brand.id != olt.brand_id:
        others = SnmpJobHost.objects.filter(olt=olt).exclude(job__brand__name=GENERIC)
        if jobs := list(others.values_list("job__name", flat=True)[:5]):
            said = {"olt": olt.name, "jobs": ", ".join(jobs), "brand": olt.brand.name}
            raise CommandError(
                "brand", _("%(olt)s has jobs for %(brand)s: detach it from %(jobs)s first") % said
            )
    model = _model_of(brand, detected) or (olt.model if brand.id == olt.brand_id else None)
    return {"brand": brand, "model": model}


@command
def enable_olts(names: Sequence[str], now: datetime) -> ReplanResult:
    """Also what brings a suspended OLT back before its probe does."""
    found = olts_named(names)
    _refuse_going(found)
    ids = [olt.id for olt in found]
    olts = Olt.objects.filter(id__in=ids)
    suspended = olts.exclude(suspended_reason="").values_list("id", flat=True)
    note_rows(Action.RESUME, olts.exclude(suspended_reason=""))
    start_anew(SnmpJobHost.objects.filter(olt__in=list(suspended)))
    start_anew(SnmpJobHost.objects.filter(olt__in=ids).exclude(suspended_reason=""))
    olts.update(enabled=True, **NOT_SUSPENDED)
    return replan(ids, now)


def _refuse_going(olts: Sequence[Olt]) -> None:
    for olt in olts:
        if olt.removed_at is not None:
            raise CommandError("olts", _("%s is being removed") % olt.name)


@command
def disable_olts(names: Sequence[str], now: datetime) -> ReplanResult:
    """What runs there stops at its next request, and writes nothing."""
    ids = [olt.id for olt in olts_named(names)]
    Olt.objects.filter(id__in=ids).update(enabled=False)
    return replan(ids, now)


def olt_named(name: str, field: str = "olt") -> Olt:
    return olts_named([name], field)[0]


def olts_named(names: Sequence[str], field: str = "olts") -> list[Olt]:
    """In the order of the names, each once."""
    wanted = list(dict.fromkeys(names))
    found = {olt.name: olt for olt in Olt.objects.filter(name__in=wanted).select_related("brand", "model")}
    for name in wanted:
        if name not in found:
            raise CommandError(field, no_such("OLT", name, Olt.objects.values_list("name", flat=True)))
    return [found[name] for name in wanted]


def brand_for(name: str, detected: Identified | None = None) -> Brand:
    """What is not known is generic; a brand that is asked for by name has to exist."""
    known = {brand.name: brand for brand in Brand.objects.all()}
    if name == AUTO:
        if detected is None:
            names = {"names": ", ".join(known)}
            raise CommandError(
                "brand", _("a brand is detected on an OLT that answers: choose one of %(names)s") % names
            )
        return known.get(detected.detection.profile) or known[GENERIC]
    if name not in known:
        said = {"name": name, "names": ", ".join(known)}
        raise CommandError("brand", _("'%(name)s' is no known brand; these are: %(names)s") % said)
    return known[name]


def _model_of(brand: Brand, detected: Identified | None) -> OltModel | None:
    if detected is None or detected.detection.profile != brand.name or not detected.detection.model:
        return None
    return OltModel.objects.get_or_create(brand=brand, name=detected.detection.model[:60])[0]


def model_named(brand: Brand, name: str) -> OltModel | None:
    if not name:
        return None
    found = brand.models.filter(name=name).first()
    if found is None:
        raise CommandError("model", no_such(_("model"), name, brand.models.values_list("name", flat=True)))
    return found


def address_of(text: str) -> str:
    address = text.strip().removeprefix("[").removesuffix("]")
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        pass
    looks_numeric = bool(re.fullmatch(r"[0-9.]*|.*:.*", address))
    if looks_numeric or len(address) > _LONGEST_ADDRESS or not _HOST_NAME.fullmatch(address):
        raise CommandError(
            "address", _("'%(text)s' is neither an IPv4 nor an IPv6 address nor a name") % {"text": text}
        )
    return address


def port_of(port: int) -> int:
    return whole_between(port, 1, 65_535, "port")


def _site_of(site: str) -> str:
    return line_of(site, "site")


def _limits_of(limits: OltLimits) -> Mapping[str, Any]:
    highest = {"max_in_flight": LARGEST, "max_varbinds": LARGEST, "shortest_interval_s": _LONGEST_INTERVAL_S}
    for limit, most in highest.items():
        number = getattr(limits, limit)
        if number is not None:
            whole_between(number, 1, most, limit)
    rate = limits.max_requests_per_second
    if rate is not None and not 0.1 <= rate <= LARGEST:
        raise CommandError("max_requests_per_second", _("at least 0.1 requests per second are needed"))
    return {each.name: getattr(limits, each.name) for each in fields(limits)}


def _refuse_running_faster(olt: Olt, shortest_s: int | None) -> None:
    if shortest_s is None:
        return
    nodes = SnmpJobHost.objects.filter(olt=olt).annotate(every=Coalesce("interval_s", "job__interval_s"))
    if jobs := list(nodes.filter(every__lt=shortest_s).values_list("job__name", flat=True)[:5]):
        raise CommandError(
            "shortest_interval_s", _("these jobs run more often there: %(jobs)s") % {"jobs": ", ".join(jobs)}
        )


def _save(olt: Olt, columns: Sequence[str] | None = None) -> None:
    try:
        with transaction.atomic():
            olt.save(update_fields=columns)
    except IntegrityError:
        raise _taken(olt.name) from None


def _taken(name: str) -> CommandError:
    return CommandError("name", _("there is an OLT named '%(name)s' already") % {"name": name})
