"""The catalogue of reasons: the English text of each code.

A code is stored and must keep its meaning; its text may change. `%(name)s` stands for a parameter. The texts
are extracted for translation, as those of gettext are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Template(NamedTuple):
    """A text, and where a number decides the form of it, the plural and the parameter with the number."""

    text: str
    plural: str = ""
    counted: str = ""


# Beside the templates: texts that were never a code, such as those stored by earlier versions.
TEXT: Final = "text"
SEVERAL: Final = "several"

_GENERAL: Final = {
    TEXT: Template("%(text)s"),
    SEVERAL: Template("%(reasons)s"),
    "and": Template("%(first)s, and %(second)s"),
    "or": Template("%(first)s, or %(second)s"),
    "more": Template("and %(more)s more"),
}

# The OLT stays silent.
_NO_ANSWER: Final = {
    "no_answer": Template(
        "no answer from %(olt)s to %(sent)s request in %(seconds)s s: %(why)s",
        "no answer from %(olt)s to %(sent)s requests in %(seconds)s s: %(why)s",
        "sent",
    ),
    "answer_from_elsewhere": Template(
        "no answer from %(olt)s to %(sent)s request in %(seconds)s s; "
        "an answer came from %(other)s instead: ask at that address",
        "no answer from %(olt)s to %(sent)s requests in %(seconds)s s; "
        "an answer came from %(other)s instead: ask at that address",
        "sent",
    ),
    "off_or_other_community": Template(
        "it is off or unreachable, or does not accept this community and version"
    ),
    "answers_in_other_community": Template("its answers carried another community and were ignored"),
    "off_or_no_snmpv3": Template("it is off or unreachable, or does not speak SNMPv3"),
    "went_off": Template("it was switched off or became unreachable"),
    "privacy_differs": Template("the privacy password or protocol is not what it expects"),
    "no_such_context": Template("it does not have this context"),
    "port_closed": Template("nothing listens on UDP port %(port)s of %(olt)s: the host refused"),
    "other_version_answers": Template(
        "%(olt)s: it does not answer SNMP version %(version)s, "
        "but it answers version %(other)s: choose that one"
    ),
    "cannot_send": Template("cannot send to %(olt)s: %(why)s"),
    "network_unreachable": Template("Network is unreachable"),
    "no_route": Template("No route to host"),
    "permission_denied": Template("Permission denied"),
    "silent_at_first_row": Template(
        "%(column)s: %(olt)s is alive but stays silent at its first row (%(why)s)"
    ),
    "silent_after_row": Template("%(column)s: %(olt)s is alive but stays silent after row %(row)s (%(why)s)"),
    "silent_about_onu": Template("the OLT does not answer requests for this ONU, but answers others"),
    "not_asked_alone": Template(
        "no answer in a request with other ONUs; not asked alone, because too many did not answer"
    ),
}

# The OLT answers, but not as it should.
_BAD_ANSWER: Final = {
    "name_not_resolved": Template("the name '%(name)s' does not resolve to an address"),
    "unknown_user": Template("%(olt)s does not know this SNMPv3 user: check its name"),
    "wrong_digest": Template(
        "%(olt)s says that the signature is wrong: check the authentication password and protocol"
    ),
    "decryption_failed": Template(
        "%(olt)s could not decrypt the request: check the privacy password and protocol"
    ),
    "unsupported_level": Template("%(olt)s does not offer this security level to this SNMPv3 user"),
    "not_in_time_window": Template("%(olt)s keeps rejecting requests as outside its SNMPv3 time window"),
    "unknown_engine": Template("%(olt)s keeps reporting a different SNMPv3 engine ID"),
    "unknown_report": Template("%(olt)s sent a report that SNMPv3 does not define"),
    "value_forbidden": Template(
        "%(olt)s refused the value with %(error)s: these credentials may not read it"
    ),
    "value_refused": Template("%(olt)s refused the value with %(error)s"),
    "walk_forbidden": Template(
        "%(olt)s refused the walk of %(column)s with %(error)s: these credentials may not read it"
    ),
    "walk_refused": Template("%(olt)s refused the walk of %(column)s with %(error)s"),
    "value_too_big": Template("%(olt)s says that even %(oid)s alone is too big to answer"),
    "row_too_big": Template("%(column)s: %(olt)s says that even one row is too big to answer"),
    "broken_message": Template("%(olt)s answered with a broken message: %(why)s"),
    "value_unreadable": Template("%(olt)s fails (genErr) on it"),
    "unreadable_from_start": Template(
        "%(column)s: %(olt)s fails (genErr) on everything before its first readable row"
    ),
    "unreadable_after_row": Template("%(column)s: %(olt)s fails (genErr) on everything after row %(row)s"),
    "unreadable_first_row": Template(
        "%(column)s: %(olt)s fails (genErr) on the row before its first readable row, up to row %(until)s"
    ),
    "unreadable_row": Template(
        "%(column)s: %(olt)s fails (genErr) on the row after row %(row)s, up to row %(until)s"
    ),
    "unreadable_in_many_places": Template(
        "%(column)s: %(olt)s fails (genErr) in more than %(most)s places, and the walk was ended"
    ),
    "rows_repeat": Template("%(column)s: %(olt)s gave rows again that it had given before, near row %(row)s"),
    "too_many_rows": Template("%(column)s: %(olt)s gave more than %(most)s rows, and the walk was ended"),
    "too_many_octets": Template("%(olt)s sent more than %(most)s octets, and was not asked for more"),
    "raise_limits": Template(
        "if it has this many, raise FACHO_WALK_ROWS for the rows of a column, "
        "or FACHO_ANSWER_OCTETS for octets"
    ),
    "went_back": Template("%(column)s: %(olt)s went back to before the column; its end was not seen"),
    "restarted": Template(
        "%(olt)s restarted during the walk: its sysUpTime went from %(before)s s to %(after)s s"
    ),
}

_TIME: Final = {
    "time_limit": Template("not finished within the time limit of %(seconds)s s"),
    "values_not_read_in_time": Template("%(olt)s: the values were not all read in %(seconds)s s"),
    "walk_not_finished_in_time": Template("%(olt)s: the walk was not finished in %(seconds)s s"),
    "time_was_over": Template("not run: the time limit of %(seconds)s s was over"),
}

# An OLT that answers and still needs a person.
_STRAIN: Final = {
    "many_timeouts": Template("%(timeouts)s of %(requests)s requests of the last hour timed out"),
    "many_failures": Template("%(failed)s of %(ended)s executions of the last hour failed"),
    "more_work_than_fits": Template(
        "its tasks take %(minutes)s min of every hour, and do not all fit: some runs are skipped"
    ),
}

# One part of an execution.
CPU_TOO_HIGH: Final = "cpu_too_high"
# No error: the OLT has no such board or feature.
TABLE_NOT_PRESENT: Final = "table_not_present"
_PARTS: Final = {
    TABLE_NOT_PRESENT: Template("table not present: %(tables)s"),
    "master_failed": Template("not run: %(job)s failed"),
    "master_skipped": Template("not run: %(job)s was skipped"),
    "stopped_answering": Template("not run: the OLT stopped answering during %(job)s"),
    CPU_TOO_HIGH: Template("skipped: OLT CPU too high"),
    "too_many_silent_onus": Template(
        "%(number)s of %(total)s ONUs did not answer, and no more than %(percent)s %% may; "
        "the first is %(onu)s: %(why)s"
    ),
    "no_row_read": Template("none of the %(number)s rows could be read; the first: %(problem)s"),
    "unreadable_indexes": Template(
        "%(number)s rows of the table %(table)s have an index that the profile cannot read, such as "
        "%(example)s (new firmware?): nothing is concluded from what is missing in it"
    ),
    "own_rows_cut": Template("only the first %(number)s of %(total)s rows of the job's own OIDs were kept"),
    "no_value_at_oid": Template("%(name)s: there is no value at %(oid)s; a subtree takes the kind walk"),
    "never_read": Template(
        "%(name)s: %(oid)s is not asked for, because %(never)s is never read (%(reason)s)"
    ),
    "read_one_by_one": Template(
        "%(name)s: the OLT reads it from the ONUs one by one; "
        "ask for it with the kind get, of those that are online"
    ),
    "not_about_onus": Template("%(name)s: it is not about ONUs; use the kind table or walk"),
    "row_not_addressable": Template(
        "%(name)s: a row of the table %(table)s cannot be asked for by the ONU's place; use the kind table"
    ),
    "index_not_known": Template("its index in the table %(table)s cannot be derived from its place"),
    "family_has_nothing": Template("not asked: OLTs of the family '%(family)s' have nothing for it"),
    "nothing_to_ask": Template(
        "%(name)s: OLTs of the family '%(family)s' have nothing that a job of this kind can ask for"
    ),
}

# The reading of one ONU.
_ONU_READ: Final = {
    "needs_walk": Template("the OLT would have to be walked for it"),
    "not_on_olt": Template("the OLT does not have it"),
    "onu_not_online": Template("not asked, because the ONU is not online"),
    "no_value": Template("the OLT gave no value"),
    "another_onu": Template("another ONU is at its place now: nothing was stored"),
    "onu_has_no_place": Template("the ONU no longer has a place"),
    "nothing_without_walk": Template(
        "OLTs of the family '%(family)s' cannot be asked for one ONU without walking their tables"
    ),
}

# Why an execution ended without being asked to its end.
_ENDED: Final = {
    "aborted_by_person": Template("a person aborted it"),
    "person_went_away": Template("the person who requested it left"),
    "olt_disabled": Template("the OLT was disabled"),
    "under_maintenance": Template("the OLT is under maintenance"),
    "olt_suspended": Template("the OLT was suspended: %(why)s"),
    "olt_detached": Template("the OLT was detached from the job"),
    "job_disabled": Template("the job was disabled"),
    "node_disabled": Template("the node was disabled"),
    "chained": Template("it runs after %(job)s"),
    "handed_back": Template("handed back: the process stopped"),
    "process_stopped": Template("the process stopped"),
    "asking_process_gone": Template("the process that asked for it disappeared"),
    "running_process_gone": Template("the process that ran it disappeared (%(worker)s)"),
    "internal_error": Template("internal error, see the log: %(error)s"),
}

# Why a device is taken for what it is.
_DETECTED: Final = {
    "names_are_of": Template("its sysObjectID %(oid)s and its sysDescr are those of %(what)s"),
    "object_id_is_no_olt": Template("its sysObjectID %(oid)s is that of %(what)s, which is not an OLT"),
    "object_id_is_of": Template("its sysObjectID %(oid)s is that of %(what)s"),
    "object_id_is_one_of": Template("its sysObjectID %(oid)s is one of %(what)s"),
    "descr_is_of": Template("its sysDescr is that of %(what)s"),
    "says": Template("it says %(text)s in %(oid)s"),
    "has_interface": Template("it has an interface with %(text)s in %(oid)s, as %(what)s has"),
    "has_rows": Template("it has rows in %(oid)s, a table of %(what)s"),
    "no_object_id": Template("it does not report its sysObjectID, by which OLTs are recognised"),
    "unknown_maker": Template("no profile knows the maker of sysObjectID %(oid)s"),
    "unknown_device_of_maker": Template(
        "its sysObjectID %(oid)s and its sysDescr match no known OLT; OLTs of %(makers)s "
        "begin with the same %(company)s, and so do switches and routers"
    ),
    "several_families": Template("it could be %(what)s: choose one of them for it"),
    "could_be_but_says": Template("it could be %(what)s, but it says %(text)s, which those do not"),
    "could_be_but_no_rows": Template(
        "it could be %(what)s, but it lacks the rows in %(oid)s that those have"
    ),
    "or_could_be_but_says": Template("or %(what)s, but it says %(text)s, which those do not"),
    "or_could_be_but_no_rows": Template("or %(what)s, but it lacks the rows in %(oid)s that those have"),
    "stored_as_that": Template("it is stored as that"),
    "asked_for_as_that": Template("it was asked for"),
}

# What a person wrote cannot be.
_REFUSED_INPUT: Final = {
    "chained_to_itself": Template("%(job)s cannot run after itself: choose another job"),
    "master_is_chained": Template(
        "%(job)s itself runs after %(master)s, and chains have one level: "
        "choose %(other)s or a job that runs after no other"
    ),
    "job_is_master": Template(
        "%(job)s has jobs that run after it (%(jobs)s), and chains have one level: "
        "let them run after %(master)s instead, or alone"
    ),
    "not_an_interval": Template(
        "'%(text)s' is not an interval: write a whole number and s, m, h or d, as in 5m or 15 min"
    ),
    "interval_of_nothing": Template("'%(text)s' is too short: an interval must be at least 1 s"),
    "interval_too_long": Template("'%(text)s' is too long: an interval may be up to %(longest)s"),
}

# Why profiles say that a part of the MIB is never read.
_NEVER_READ: Final = {
    "onu_passwords": Template("passwords of the ONUs"),
    "unconfigured_onu_passwords": Template("passwords of ONUs that are not configured"),
    "refused_onu_passwords": Template("passwords of ONUs that are not let in"),
    "white_lists": Template("white lists with passwords of the ONUs"),
    "wan_users": Template("seems to hold the customers' WAN user names"),
    "wan_passwords": Template("seems to hold the customers' WAN passwords"),
    "olt_communities": Template("SNMP communities of the OLT"),
    "olt_communities_and_users": Template("SNMP communities and users"),
    "long_history": Template("history: ten rows for each ONU"),
    "write_access_needed": Template("requests and answers that need write access"),
}

# Why a channel gets no message.
CHANNEL_UNKNOWN: Final = "channel_unknown"
CHANNEL_KIND_REFUSED: Final = "channel_kind_refused"
CHANNEL_NAMES_A_FILE: Final = "channel_names_a_file"
CHANNEL_IS_LOCAL: Final = "channel_is_local"
CHANNEL_TOOK_NOTHING: Final = "channel_took_nothing"
_CHANNELS: Final = {
    CHANNEL_UNKNOWN: Template("apprise knows no channel with such an address"),
    CHANNEL_KIND_REFUSED: Template("messages are not sent to channels of this kind"),
    CHANNEL_NAMES_A_FILE: Template("an address must not name files of this machine"),
    CHANNEL_IS_LOCAL: Template("messages are not sent to this machine itself (FACHO_NOTIFY_LOCAL_TARGETS)"),
    CHANNEL_TOOK_NOTHING: Template("the channel did not take it"),
}

TEMPLATES: Final[Mapping[str, Template]] = {
    **_GENERAL,
    **_NO_ANSWER,
    **_BAD_ANSWER,
    **_TIME,
    **_STRAIN,
    **_PARTS,
    **_ONU_READ,
    **_ENDED,
    **_DETECTED,
    **_REFUSED_INPUT,
    **_NEVER_READ,
    **_CHANNELS,
}
