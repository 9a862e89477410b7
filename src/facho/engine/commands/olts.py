"""Add, change, enable, disable and remove OLTs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from django.db import IntegrityError, transaction
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from facho.apps.access.actors import actor_name
from facho.apps.access.audit_actions import Action
from facho.apps.access.audit_recording import differences, note_rows
from facho.apps.db.database import database_now, pause_for_other_writers
from facho.apps.discovery.models import UnreadableRows
from facho.apps.hosts.credentials import Credentials
from facho.apps.hosts.models import Brand, Olt, OltModel, SnmpVersion
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import Config, current
from facho.engine.commands.credentials import check_credentials, check_version
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import (
    LARGEST,
    check_free_name,
    check_line,
    check_name,
    check_range,
    check_reason,
    find_all_named,
    find_named,
    taken_name,
)
from facho.engine.commands.job_targets import attach_covering_jobs, jobs_covering
from facho.engine.commands.nodes import NOT_SUSPENDED, reset_nodes
from facho.engine.commands.olt_addresses import address_of, device_of, port_of, refuse_taken_address
from facho.engine.coordinate.changes import ReplanResult, replan
from facho.engine.process.command_transaction import command
from facho.engine.upkeep.olt_removal import count_rows_of, remove_olt_in_chunks
from facho.vendors import GENERIC

if TYPE_CHECKING:
    from facho.engine.collect.identify import Identified

AUTO: Final = "auto"
# The columns that tell why an OLT is disabled, as they are when it is enabled.
NOT_DISABLED: Final[Mapping[str, object]] = {
    "disabled_at": None,
    "disabled_by": "",
    "disabled_reason": "",
}
_LONGEST_INTERVAL_S: Final = 366 * 86_400


@dataclass(frozen=True, slots=True)
class OltLimits:
    """Limits on requests to an OLT. None is the setting for all OLTs."""

    max_in_flight: int | None = None
    max_varbinds: int | None = None
    max_requests_per_second: float | None = None
    shortest_interval_s: int | None = None


LIMITS: Final = tuple(each.name for each in fields(OltLimits))


@dataclass(frozen=True, slots=True)
class NewOlt:
    """An OLT to add. `brand` is the name of a profile, or "auto" to detect it; `port` None is the setting."""

    name: str
    address: str
    port: int | None = None
    version: str = SnmpVersion.V2C.value
    credentials: Credentials = field(default_factory=lambda: Credentials(community="public"))
    brand: str = AUTO
    site: str = ""
    limits: OltLimits = OltLimits()
    enabled: bool = True
    # A model of its brand; None is the detected one.
    model: str | None = None


@dataclass(frozen=True, slots=True)
class OltChanges:
    """Changes of an OLT. What is None stays; `model` "" removes the model."""

    name: str | None = None
    address: str | None = None
    port: int | None = None
    version: str | None = None
    credentials: Credentials | None = None
    brand: str | None = None
    site: str | None = None
    limits: OltLimits | None = None
    model: str | None = None
    enabled: bool | None = None


@command
def add_olt(new: NewOlt, *, detected: Identified | None = None) -> Olt:
    """Add an OLT. `detected` is its answer to a connection test, which the brand "auto" needs."""
    name = check_free_name(Olt.objects.all(), new.name)
    brand = brand_for(new.brand, detected)
    olt = Olt(
        name=name,
        brand=brand,
        model=_detected_model(brand, detected) if new.model is None else model_named(brand, new.model),
        address=address_of(new.address),
        port=port_of(current().snmp_port if new.port is None else new.port),
        snmp_version=check_version(new.version),
        site=check_line(new.site, "site"),
        enabled=new.enabled,
        **_check_limits(new.limits),
    )
    olt.credentials = check_credentials(new.version, new.credentials)
    if detected is not None:
        olt.sys_descr, olt.sys_object_id = detected.sys_descr, detected.sys_object_id[:200]
    refuse_taken_address(olt)
    _save(olt)
    attach_covering_jobs(olt, database_now())
    return olt


def check_new(new: NewOlt) -> NewOlt:
    """Check everything that can be checked without asking the OLT. Return it with its normalised address."""
    check_free_name(Olt.objects.all(), new.name)
    address, port = address_of(new.address), port_of(current().snmp_port if new.port is None else new.port)
    credentials = check_credentials(check_version(new.version), new.credentials)
    _check_limits(new.limits)
    olt = Olt(address=address, port=port, snmp_version=new.version)
    olt.credentials = credentials
    refuse_taken_address(olt)
    return replace(new, address=address)


@dataclass(frozen=True, slots=True)
class ChangedOlt:
    """An OLT after its columns were written, and how they differ: `{"port": {"old": 161, "new": 1161}}`."""

    olt: Olt
    changes: Mapping[str, Mapping[str, Any]]
    # Whether it is still to be enabled or disabled.
    enabled: bool | None = None
    # The jobs whose target covered it before its site or brand changed; None if neither did.
    covered_by: frozenset[int] | None = None


@command
def update_olt(name: str, changes: OltChanges, now: datetime, *, detected: Identified | None = None) -> Olt:
    """Change an OLT. Only changed columns are written, because the engine writes others of the same row."""
    return update_olts({name: changes}, now, detected=detected)[0].olt


@command
def update_olts(
    changes: Mapping[str, OltChanges], now: datetime, *, detected: Identified | None = None
) -> list[ChangedOlt]:
    """Change OLTs by name, all of them or none."""
    done = write_changes(changes, detected)
    finish_changes(done, now)
    return done


def write_changes(changes: Mapping[str, OltChanges], detected: Identified | None = None) -> list[ChangedOlt]:
    """Write the changed columns of OLTs. The calling command finishes them, or rolls back."""
    found = olts_named(list(changes), "olt" if len(changes) == 1 else "olts")
    done = []
    for olt in found:
        name = olt.name
        try:
            done.append(_write_changes(olt, changes[name], detected))
        except CommandError as refused:
            raise (
                refused if len(found) == 1 else CommandError(refused.field, f"{name}: {refused.message}")
            ) from None
    return done


def finish_changes(done: Sequence[ChangedOlt], now: datetime) -> None:
    """Replan OLTs whose columns were written, and enable or disable them."""
    # New credentials change no plan.
    if changed := [each.olt.id for each in done if each.changes.keys() - set(Olt.audited.secrets)]:
        replan(changed, now)
    for each in done:
        if each.covered_by is not None:
            attach_covering_jobs(each.olt, now, unless=each.covered_by)
    for enabled, switch in ((True, enable_olts), (False, disable_olts)):
        if names := [each.olt.name for each in done if each.enabled is enabled]:
            switch(names, now)


def _write_changes(olt: Olt, changes: OltChanges, detected: Identified | None) -> ChangedOlt:
    device = device_of(olt)
    moves = (changes.site, changes.brand) != (None, None)
    covered_by = frozenset(jobs_covering(olt).values_list("id", flat=True)) if moves else None
    found = _changed_columns(olt, changes, detected)
    written = {column: value for column, value in found.items() if getattr(olt, column) != value}
    shown = {column: written[column] for column in Olt.audited.among(written)}
    old = {column: getattr(olt, column) for column in shown}
    if changes.enabled is not None:
        old["enabled"], shown["enabled"] = olt.enabled, changes.enabled
    for column, value in written.items():
        setattr(olt, column, value)
    if device_of(olt) != device:
        refuse_taken_address(olt)
    if written:
        _save(olt, list(written))
    if any(column in written for column in _DEVICE_IDENTITY):
        UnreadableRows.objects.filter(olt=olt).delete()
    return ChangedOlt(olt, differences(old, shown, Olt.audited.secrets), changes.enabled, covered_by)


def _changed_columns(olt: Olt, changes: OltChanges, detected: Identified | None) -> dict[str, Any]:
    version = changes.version or olt.snmp_version
    found: dict[str, Any] = {}
    if changes.name is not None and changes.name.strip() != olt.name:
        found["name"] = check_name(changes.name)
    if changes.address is not None:
        found["address"] = address_of(changes.address)
    if changes.port is not None:
        found["port"] = port_of(changes.port)
    if changes.version is not None or changes.credentials is not None:
        found["snmp_version"] = check_version(version)
        found["credentials"] = check_credentials(version, changes.credentials or olt.credentials)
    if changes.site is not None:
        found["site"] = check_line(changes.site, "site")
    if changes.limits is not None:
        found |= _check_limits(changes.limits)
        _refuse_running_faster(olt, changes.limits.shortest_interval_s)
    if changes.brand is not None:
        found |= _changed_brand(olt, brand_for(changes.brand, detected), detected)
    if changes.model is not None:
        found["model"] = model_named(found.get("brand", olt.brand), changes.model)
    if any(getattr(olt, column) != found[column] for column in _DEVICE_IDENTITY if column in found):
        found |= {column: getattr(Olt(), column) for column in _LEARNED_COLUMNS}
    return found


# Columns whose change makes it another device, and columns that the engine learned about the device.
_DEVICE_IDENTITY: Final = ("address", "port", "brand")
_LEARNED_COLUMNS: Final = ("lacks", "version", "uptime_s", "uptime_read_at", "cpu_pct", "cpu_read_at")


def _changed_brand(olt: Olt, brand: Brand, detected: Identified | None) -> dict[str, Any]:
    if brand.id != olt.brand_id:
        others = SnmpJobHost.objects.filter(olt=olt).exclude(job__brand__name=GENERIC)
        if jobs := list(others.values_list("job__name", flat=True)[:5]):
            values = {"olt": olt.name, "jobs": ", ".join(jobs), "brand": olt.brand.name}
            raise CommandError(
                "brand", _("%(olt)s has jobs for %(brand)s: detach it from %(jobs)s first") % values
            )
    model = _detected_model(brand, detected) or (olt.model if brand.id == olt.brand_id else None)
    return {"brand": brand, "model": model}


@command
def enable_olts(names: Sequence[str], now: datetime) -> ReplanResult:
    """Enable OLTs and resume those that are suspended."""
    found = olts_named(names)
    _refuse_being_removed(found)
    ids = [olt.id for olt in found]
    olts = Olt.objects.filter(id__in=ids)
    suspended = olts.exclude(suspended_reason="").values_list("id", flat=True)
    note_rows(Action.RESUME, olts.exclude(suspended_reason=""))
    reset_nodes(SnmpJobHost.objects.filter(olt__in=list(suspended)))
    reset_nodes(SnmpJobHost.objects.filter(olt__in=ids).exclude(suspended_reason=""))
    olts.update(enabled=True, **NOT_DISABLED, **NOT_SUSPENDED)
    return replan(ids, now)


@command
def probe_olts_now(names: Sequence[str], now: datetime) -> None:
    """Make the next probe of suspended OLTs due now: the engine asks them at once, and resumes who answers.

    Where no OLT may resume by itself, a person who asks for it resumes it.
    """
    found = olts_named(names)
    _refuse_being_removed(found)
    for olt in found:
        if not olt.enabled or not olt.is_suspended:
            raise CommandError("olts", _("%s is not suspended") % olt.name)
    if not current().come_back:
        enable_olts(names, now)
        return
    olts = Olt.objects.filter(id__in=[olt.id for olt in found])
    note_rows(Action.RESUME, olts)
    olts.update(next_probe_at=now, failed_probes=0)


def _refuse_being_removed(olts: Sequence[Olt]) -> None:
    for olt in olts:
        if olt.removed_at is not None:
            raise CommandError("olts", _("%s is being removed") % olt.name)


@command
def disable_olts(names: Sequence[str], now: datetime, reason: str = "") -> ReplanResult:
    """Disable OLTs. Running executions stop at their next request and store nothing.

    The reason of those that were disabled before stays.
    """
    ids = [olt.id for olt in olts_named(names)]
    why = {"disabled_at": now, "disabled_by": actor_name(), "disabled_reason": check_reason(reason)}
    Olt.objects.filter(id__in=ids, enabled=True).update(enabled=False, **why)
    return replan(ids, now)


def olt_named(name: str, field: str = "olt") -> Olt:
    return olts_named([name], field)[0]


def olts_named(names: Sequence[str], field: str = "olts") -> list[Olt]:
    return find_all_named(Olt.objects.select_related("brand", "model"), names, "OLT", field)


def check_site(site: str) -> str:
    """Check that an OLT is at the site."""
    site = site.strip()
    if not Olt.objects.filter(site=site).exists():
        sites = Olt.objects.exclude(site="").order_by("site").values_list("site", flat=True).distinct()
        values = {"site": site, "sites": ", ".join(sites) or _("none")}
        raise CommandError("site", _("no OLT is at the site '%(site)s'; the sites are: %(sites)s") % values)
    return site


def brand_for(name: str, detected: Identified | None = None) -> Brand:
    """Return a brand by name; "auto" is the detected one, or generic if the database lacks it."""
    known = {brand.name: brand for brand in Brand.objects.all()}
    if name == AUTO:
        if detected is None:
            names = {"names": ", ".join(known)}
            raise CommandError(
                "brand",
                _("detecting the brand needs a connection test: choose one of %(names)s") % names,
            )
        return known.get(detected.detection.profile) or known[GENERIC]
    if name not in known:
        values = {"name": name, "names": ", ".join(known)}
        raise CommandError("brand", _("unknown brand '%(name)s'; known brands: %(names)s") % values)
    return known[name]


def _detected_model(brand: Brand, detected: Identified | None) -> OltModel | None:
    if detected is None or detected.detection.profile != brand.name or not detected.detection.model:
        return None
    return OltModel.objects.get_or_create(brand=brand, name=detected.detection.model[:60])[0]


def model_named(brand: Brand, name: str) -> OltModel | None:
    return find_named(brand.models.all(), name, _("model"), "model") if name else None


def _check_limits(limits: OltLimits) -> Mapping[str, Any]:
    highest = {"max_in_flight": LARGEST, "max_varbinds": LARGEST, "shortest_interval_s": _LONGEST_INTERVAL_S}
    for limit, most in highest.items():
        number = getattr(limits, limit)
        if number is not None:
            check_range(number, 1, most, limit)
    rate = limits.max_requests_per_second
    if rate is not None and not 0.1 <= rate <= LARGEST:
        raise CommandError("max_requests_per_second", _("at least 0.1 requests per second are needed"))
    return {limit: getattr(limits, limit) for limit in LIMITS}


def _refuse_running_faster(olt: Olt, shortest_s: int | None) -> None:
    if shortest_s is None:
        return
    nodes = SnmpJobHost.objects.filter(olt=olt).annotate(every=Coalesce("interval_s", "job__interval_s"))
    if jobs := list(nodes.filter(every__lt=shortest_s).values_list("job__name", flat=True)[:5]):
        raise CommandError(
            "shortest_interval_s", _("these jobs run more often on it: %(jobs)s") % {"jobs": ", ".join(jobs)}
        )


def _save(olt: Olt, columns: Sequence[str] | None = None) -> None:
    try:
        with transaction.atomic():
            olt.save(update_fields=columns)
    except IntegrityError:
        raise taken_name(olt.name) from None


def count_rows_removed_with(name: str) -> Mapping[str, int]:
    """Return how many rows of each table would be deleted with the OLT."""
    return {model._meta.db_table: count for model, count in count_rows_of([olt_named(name).id]).items()}


def remove_olt(
    name: str,
    now: datetime,
    config: Config,
    *,
    between: Callable[[], None] = pause_for_other_writers,
    chunks: int | None = None,
) -> bool:
    """Disable the OLT, then delete its rows in chunks. Return whether it is gone.

    What is left after `chunks` chunks, or after an interruption, is deleted by the engine's housekeeping.
    """
    return remove_olt_in_chunks(olt_named(name).id, now, config, between=between, chunks=chunks)
