"""The operator's own profiles and facts, in a folder that upgrades leave alone."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from facho.vendors import Entity, Identity, builtin, detect
from facho.vendors.library import Library, ProfileOrigin, load_library, profile_origin
from facho.vendors.own_profiles import read_own_profiles
from tests.own_profiles import acme, using_profiles, write

CLIENTS = "    wifi_clients: {kind: whole number, en: Clients, es: Clientes, what: its clients%s}\n"
FACTS = f"facts:\n  onu:\n{CLIENTS % ''}"


def mistakes(library: Library) -> list[str]:
    return [str(each).rpartition("/")[2] for each in library.own.every_mistake]


def test_without_a_folder_there_are_the_built_in_profiles(tmp_path: Path) -> None:
    library = load_library(tmp_path / "none")
    assert list(library.profiles) == list(builtin())
    assert (library.own.digest, library.own.every_mistake, library.replaced) == ("", (), [])


def test_a_family_of_ones_own_is_beside_the_built_in_ones(tmp_path: Path) -> None:
    library = load_library(write(tmp_path, acme=acme()))
    assert library.profiles.keys() - builtin().keys() == {"acme"}
    assert library.profiles["acme"].own_file == str(tmp_path / "acme.yaml")
    assert list(library.profiles) == sorted(library.profiles)
    found = detect(Identity("1.3.6.1.4.1.99999.1.7", "an OLT"), {}, library.profiles)
    assert (found.profile, found.model) == ("acme", "A7")


def test_a_file_replaces_the_built_in_profile_of_its_name_and_that_is_shown(tmp_path: Path) -> None:
    ours = acme().replace("profile: acme", "profile: huawei")
    with using_profiles(write(tmp_path, anything=ours)) as library:
        assert library.replaced == ["huawei"]
        assert library.profiles["huawei"].title == "Acme A7"
        assert profile_origin("huawei") is ProfileOrigin.REPLACED
        assert profile_origin("zte") is ProfileOrigin.BUILTIN
        assert profile_origin("nobody") is ProfileOrigin.NONE


def test_a_broken_file_leaves_the_built_in_profile_in_force(tmp_path: Path) -> None:
    with using_profiles(write(tmp_path, huawei="profile: huawei\ntitle: [1")) as library:
        assert library.profiles["huawei"] is builtin()["huawei"]
        assert mistakes(library)[0].startswith("huawei.yaml, line 3: this is not YAML: ")
        assert not library.unusable
        assert profile_origin("huawei") is ProfileOrigin.BUILTIN_INSTEAD
        assert profile_origin("zte") is ProfileOrigin.BUILTIN


def test_a_second_file_of_a_name_that_is_refused_leaves_the_first_in_force(tmp_path: Path) -> None:
    ours = acme().replace("profile: acme", "profile: huawei")
    with using_profiles(write(tmp_path, a=ours, b=ours)):
        assert profile_origin("huawei") is ProfileOrigin.REPLACED


def test_a_broken_family_of_ones_own_is_known_to_be_unusable(tmp_path: Path) -> None:
    broken = acme().replace("index: onu", "index: elsewhere")
    with using_profiles(write(tmp_path, acme=broken, other=acme().replace("acme", "other"))) as library:
        assert list(library.unusable) == ["acme"]
        assert "other" in library.profiles
        assert mistakes(library) == [
            "acme.yaml, line 20, tables.onus.index: there is no index 'elsewhere': "
            "there are onu, port, uni, row, slot, scalar"
        ]
        assert profile_origin("acme") is ProfileOrigin.UNUSABLE


def test_two_files_of_one_name_are_refused_and_the_first_counts(tmp_path: Path) -> None:
    library = load_library(write(tmp_path, a=acme(), b=acme()))
    assert library.profiles["acme"].own_file.endswith("/a.yaml")
    assert mistakes(library) == ["b.yaml, line 1: there is a profile 'acme' in a.yaml already"]


def test_a_file_may_declare_facts_alone_and_profiles_of_other_files_use_them(tmp_path: Path) -> None:
    library = load_library(write(tmp_path, zz=FACTS, acme=acme(columns="      wifi_clients: 7")))
    assert mistakes(library) == []
    assert "wifi_clients" in library.facts[Entity.ONU]
    columns = library.profiles["acme"].tables[0].columns
    assert columns[-1].meaning is library.facts[Entity.ONU]["wifi_clients"]


def test_a_fact_that_two_files_declare_otherwise_is_refused_in_the_second(tmp_path: Path) -> None:
    other = FACTS.replace("its clients", "its clients, unit: people")
    library = load_library(write(tmp_path, a=FACTS, b=other))
    assert mistakes(library) == [
        "b.yaml, line 3, facts.onu.wifi_clients: there is a fact 'wifi_clients' of onu already, "
        "and its unit is none there, and 'people' here"
    ]
    assert library.facts[Entity.ONU]["wifi_clients"].unit == ""
    # The same in other words is no conflict.
    assert mistakes(load_library(write(tmp_path, b=FACTS.replace("Clients,", "Stations,")))) == []


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        ("    serial: {kind: text, en: S, es: S, what: s}", "its kind is 'serial' there, and 'text' here"),
        ("    presence: {kind: text, en: S, es: S, what: s}", "is the name of something else"),
        # `facho_onu_online` is sent by remote write, and says whether it works.
        ("    online: {kind: number, en: S, es: S, what: s, history: yes}", "is the name of something else"),
    ],
)
def test_a_fact_that_facho_has_otherwise_is_refused(tmp_path: Path, declared: str, why: str) -> None:
    (found,) = mistakes(load_library(write(tmp_path, facts=f"facts:\n  onu:\n{declared}\n")))
    assert found.startswith("facts.yaml, line 3, facts.onu.")
    assert why in found


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        ("onu: {a: {kind: text, en: '', es: A, what: a}}", "facts.onu.a.en: expected one line of 1 to 60"),
        (
            'onu: {a: {kind: text, en: A, es: "A\\0", what: a}}',
            "facts.onu.a.es: expected one line of 1 to 60",
        ),
        (f"onu: {{a: {{kind: number, en: A, es: A, what: a, unit: {'x' * 21}}}}}", "unit: expected one line"),
        ("uni: {a: {kind: number, en: A, es: A, what: a, history: yes}}", "facts of uni have no history"),
        ("autofind: {a: {kind: rate, en: A, es: A, what: a}}", "facts of autofind have no history"),
        # One column of the history has both.
        (
            "onu: {in_bps: {kind: number, en: A, es: A, what: a, unit: Mbit/s, history: yes}}",
            "'in_bps' of port has a history too, and another kind, unit or rate",
        ),
        (
            "{board: {a: {kind: number, en: A, es: A, what: a, unit: V, history: yes}}, "
            "psu: {a: {kind: number, en: A, es: A, what: a, unit: W, history: yes}}}",
            "facts.psu.a: 'a' of board has a history too",
        ),
    ],
)
def test_a_fact_that_could_not_be_stored_or_shown_is_refused(tmp_path: Path, declared: str, why: str) -> None:
    braces = declared if declared.startswith("{") else f"{{{declared}}}"
    assert why in mistakes(load_library(write(tmp_path, facts=f"facts: {braces}\n")))[0]


def test_one_name_for_things_of_the_same_kind_is_fine(tmp_path: Path) -> None:
    same = "{kind: number, en: A, es: A, what: a, unit: V, history: yes}"
    text = "{kind: text, en: A, es: A, what: a}"
    declared = f"facts: {{board: {{a: {same}, voltage_v: {same}}}, psu: {{a: {same}}}, uni: {{a: {text}}}}}"
    assert mistakes(load_library(write(tmp_path, facts=declared))) == []


def test_each_mistake_is_named_once(tmp_path: Path) -> None:
    library = load_library(write(tmp_path, acme=acme() + "title: again\n"))
    assert mistakes(library) == ["acme.yaml, line 25, title: is there twice; one of them would be lost"]


def test_a_fact_that_facho_has_as_well_since_an_upgrade_is_no_mistake(tmp_path: Path) -> None:
    same = "    mac_count: {kind: whole number, en: Stations, es: Estaciones, what: stations}"
    library = load_library(write(tmp_path, acme=acme(f"  onu:\n{same}", "      mac_count: 5")))
    assert mistakes(library) == []


def test_the_digest_says_when_a_file_differs(tmp_path: Path) -> None:
    first = load_library(write(tmp_path, acme=acme())).own.digest
    assert load_library(tmp_path).own.digest == first
    assert load_library(write(tmp_path, more=FACTS)).own.digest != first


# Bombs, and what else a file may be.


def bomb() -> str:
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    return "\n".join(["a0: &a0 [x, x]", *levels, "profile: bomb"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (bomb(), "its aliases stand for more than 200000 values"),
        ("profile: &a [*a]", "its aliases stand for themselves, or are too deep in one another"),
        (
            "\n".join(["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 5000)]),
            "more than 200000 values",
        ),
        ("[" * 5000, "more than 50 lists and mappings in one another"),
        ("x: " + "y" * (1 << 20), "a profile has at most 1048576 octets"),
        ("x: !!python/object/apply:os.system [echo]", "unknown key 'x'"),
        ("\x00", "this is not YAML"),
        ("", "the file is empty"),
        ("42", "expected a mapping"),
        ("a: 1\n" * 1000, "is there twice"),
        # It is 1 in base 60, with as many digits: to read it would take minutes.
        ("profile: " + "1:" * 500_000 + "1", "is too large a number"),
        ("profile: " + "1:" * 500_000 + "1.5", "is too large a number"),
    ],
)
def test_a_hostile_file_is_refused_with_a_sentence(tmp_path: Path, text: str, why: str) -> None:
    library = load_library(write(tmp_path, hostile=text, acme=acme()))
    found = mistakes(library)
    assert why in found[0]
    assert len(found) <= 100
    assert "acme" in library.profiles


@pytest.mark.parametrize("pattern", [r"^(\w+\s?)+$", "(?:.*)*x", "((a|b+)?){2,}", "(a{1,99}){10,20}"])
def test_a_pattern_that_could_take_hours_is_refused(tmp_path: Path, pattern: str) -> None:
    text = acme().replace("model: A7", f"model: A7, descr: {json.dumps(pattern)}")
    (found,) = mistakes(load_library(write(tmp_path, acme=text)))
    assert found.startswith("acme.yaml, line 7, detect.any[0].descr: a repetition within a repetition")


@pytest.mark.parametrize(
    "pattern",
    [
        r"^A7 \d+(\.\d+){0,3}",
        "(A7|A8)+.*",
        r"(?:[0-9A-F]{2}[:-]?){6}",
        r"[(+]+\(x+\)*",
        "(a+)?b+",
        "(?x) a # )",
    ],
)
def test_other_patterns_are_used(tmp_path: Path, pattern: str) -> None:
    text = acme().replace("model: A7", f"model: A7, descr: {json.dumps(pattern)}")
    assert mistakes(load_library(write(tmp_path, acme=text))) == []


def test_what_is_no_file_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    read: list[Library] = []
    reader = threading.Thread(target=lambda: read.append(load_library(tmp_path)), daemon=True)
    reader.start()
    reader.join(60)
    assert mistakes(read[0]) == [
        "folder.yaml, line 1: Is a directory",
        "gone.yaml, line 1: No such file or directory",
        "pipe.yaml, line 1: this is no file",
    ]


def test_a_name_that_cannot_be_shown_or_stored_is_refused(tmp_path: Path) -> None:
    # Names of old file servers are no UTF-8: the database would refuse the reason of an execution with it.
    (tmp_path / os.fsdecode(b"caf\xe9.yaml")).write_text("{")
    (tmp_path / "a\nb.yaml").write_text(acme())
    library = load_library(write(tmp_path, acme=acme()))
    told = [str(each) for each in library.own.every_mistake]
    assert [each.partition("line 1: ")[2] for each in told] == [
        "'a\\nb.yaml' is not read: nothing could show its name",
        "'caf\\udce9.yaml' is not read: nothing could show its name",
    ]
    assert all(each.isprintable() for each in told)
    assert "acme" in library.profiles


def test_files_that_everybody_may_write_are_not_read(tmp_path: Path) -> None:
    folder = write(tmp_path / "profiles", acme=acme())
    (folder / "acme.yaml").chmod(0o666)
    library = load_library(folder)
    assert mistakes(library) == ["acme.yaml, line 1: everybody may write to it: chmod o-w"]
    (folder / "acme.yaml").chmod(0o644)
    # In a folder like /tmp everybody may put a file, too.
    for mode in (0o777, 0o1777):
        folder.chmod(mode)
        assert mistakes(load_library(folder)) == [
            "profiles, line 1: everybody may put files there, so none is read: chmod o-w"
        ]


def test_too_many_files_are_told(tmp_path: Path) -> None:
    write(tmp_path, **{f"f{number:03}": "facts: {}" for number in range(201)})
    own = read_own_profiles(tmp_path, {})
    assert len(own.files) == 200
    assert "more than 200 files" in str(own.mistakes[0])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("profile: acme", f"profile: {'a' * 41}"), "a name has at most 40 characters"),
        (("title: Acme A7", 'title: "a\\0b"'), "expected one line of at most 120 characters"),
        (("  onus:", f"  {'t' * 41}:"), "a name has at most 40 characters"),
        (("1.3.6.1.4.1.99999.2.1", ".".join(["1.3", *["4294967295"] * 60])), "at most 300 characters"),
    ],
)
def test_what_the_database_cannot_hold_is_refused(tmp_path: Path, change: tuple[str, str], why: str) -> None:
    assert why in mistakes(load_library(write(tmp_path, acme=acme().replace(*change))))[0]
