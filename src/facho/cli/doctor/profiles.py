"""Checks of the operator's own vendor profiles: their mistakes, what they replace, and who uses which."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from facho.cli.doctor.findings import Finding, error, ok, warning
from facho.cli.output import list_names
from facho.config import Config
from facho.vendors import current_library, known_facts
from facho.vendors.facts import full_fact_name
from facho.vendors.library import Library

_WHAT: Final = "profiles"
_MOST_MISTAKES: Final = 20
# Of files that somebody may have meant to be read.
_OTHER_ENDINGS: Final = (".yml", ".YAML", ".YML", ".Yaml")
_CHECK: Final = "correct it (facho profile check FILE), and start facho again"
_RESTART: Final = "start it again, with the same files in FACHO_PROFILES on every machine"


def check_own_profiles(config: Config) -> Iterator[Finding]:
    """Report each mistake with its file and line, and what is used in place of the file."""
    library = current_library()
    mistakes = library.own.every_mistake
    for mistake in mistakes[:_MOST_MISTAKES]:
        yield error(_WHAT, f"{mistake}{_consequence(library, mistake.file)}", _CHECK)
    if len(mistakes) > _MOST_MISTAKES:
        yield error(_WHAT, f"there are {len(mistakes) - _MOST_MISTAKES} mistakes more", _CHECK)
    folder = config.profile_folder
    if config.profiles and not folder.is_dir():
        yield error(
            _WHAT, f"FACHO_PROFILES: there is no folder {folder}", "create it, or correct the setting"
        )
    for name in library.replaced:
        text = f"{library.profiles[name].own_file} replaces the built-in profile '{name}'"
        yield ok(_WHAT, text)
    if ignored := sorted(path.name for path in folder.glob("*") if path.suffix in _OTHER_ENDINGS):
        yield warning(_WHAT, f"not read: {list_names(ignored)}", "name them .yaml")
    if not mistakes:
        yield ok(_WHAT, _describe(library, str(folder)))


def _consequence(library: Library, path: str) -> str:
    file = next((file for file in library.own.files if str(file.path) == path), None)
    if file is None or not file.name:
        return ""
    if file.name in library.unusable:
        return f"; until then OLTs of the family '{file.name}' are not collected, and keep what is known"
    used = library.profiles[file.name].own_file if file.name in library.profiles else ""
    return "; its profile is not used" if used else f"; the built-in profile '{file.name}' is used instead"


def _describe(library: Library, folder: str) -> str:
    own = [name for name, profile in library.profiles.items() if profile.own_file]
    facts = sum(len(facts) for file in library.own.files for facts in file.facts.values())
    if not library.own.files:
        return f"{len(library.profiles)} built-in ones, and none in {folder}"
    told = f"{len(own)} in {folder}" + (f": {list_names(own)}" if own else "")
    return told + (f"; {facts} facts of your own" if facts else "")


def check_families(_now: datetime, _config: Config) -> Finding:
    """Name the OLTs whose family has no profile, and the families whose OIDs are not those of the profile."""
    from facho.apps.hosts.models import Brand, Olt
    from facho.apps.hosts.selectors import family_problem
    from facho.apps.hosts.store import families_to_sync

    broken = [brand.pk for brand in Brand.objects.all() if family_problem(brand)]
    if names := list(Olt.objects.filter(brand__in=broken).order_by("name").values_list("name", flat=True)):
        text = f"{len(names)} OLTs have a family without a usable profile: {list_names(names)}"
        return error("families", text, "their family is not collected, and keeps what is known: see profiles")
    if families := families_to_sync(current_library().profiles):
        text = f"the table of OIDs has other ones than the profiles of {list_names(families)}"
        return warning("families", text, "facho migrate, or start facho up again")
    return ok("families", "the table of OIDs has those of the profiles")


def check_facts_of_jobs(_now: datetime, _config: Config) -> Finding:
    """Name the jobs that ask for facts which no file declares any more."""
    from facho.apps.hosts.selectors import without_sets
    from facho.apps.snmp_jobs.models import SnmpJob

    known = {full_fact_name(entity, fact) for entity, facts in known_facts().items() for fact in facts}
    jobs = SnmpJob.objects.order_by("name").values_list("name", "facts")
    gone = {name: sorted(unknown) for name, facts in jobs if (unknown := without_sets(facts) - known)}
    if gone:
        facts = ", ".join(sorted({fact for facts in gone.values() for fact in facts}))
        text = f"{len(gone)} ask for facts that nothing declares any more: {list_names(list(gone))} ({facts})"
        return warning("jobs", text, "put the file that declares them back, or change the jobs")
    return ok("jobs", "ask for facts that are known")


def check_declared_history(_now: datetime, _config: Config) -> Finding:
    """Name the declared facts for which the history has no room where an OLT has all of them."""
    from facho.apps.history.facts import ENTITIES, declared_facts
    from facho.core.history_facts import MOST_DECLARED

    left_out = [name for subject in ENTITIES for name in sorted(declared_facts(subject))[MOST_DECLARED:]]
    if left_out:
        text = (
            f"of an OLT that has all, {MOST_DECLARED} declared facts are kept, and not {list_names(left_out)}"
        )
        return warning("history", text, "remove 'history: yes' from facts that need none")
    return ok("history", "has room for all declared facts")


def check_profiles_of_workers(now: datetime, config: Config) -> Finding:
    """Name the workers that were started with other profiles than those of this machine now."""
    from facho.apps.zabbix_pollers.selectors import read_worker_profiles

    seen = read_worker_profiles(now, config)
    if other := [name for name, digest in seen.items() if digest != current_library().own.digest]:
        text = f"{len(other)} use other profiles than those in {config.profile_folder}: {list_names(other)}"
        return warning("workers' profiles", text, _RESTART)
    return ok("workers' profiles", "all use the profiles that are on this machine now")
