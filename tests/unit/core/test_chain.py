"""Which nodes run as one, and which chains are refused."""

from __future__ import annotations

from typing import Final

import pytest

from facho.core.chain import ChainError, Composite, Link, check_master, composites, masters, members

DISCOVERY, OPTICS, NAMES, OTHER = 1, 2, 3, 4
CALLED: Final = {DISCOVERY: "Discovery", OPTICS: "Optics", NAMES: "Names", OTHER: "Other"}


def link(
    node: int, job: int, master: int | None = None, *, priority: int = 40, enabled: bool = True, olt: int = 7
) -> Link:
    return Link(node, job, olt, master, priority, enabled)


@pytest.mark.parametrize(
    ("job", "master_of"),
    [
        pytest.param(None, {DISCOVERY: None}, id="a new job after a plain one"),
        pytest.param(None, {DISCOVERY: None, OPTICS: DISCOVERY}, id="a second one after the same master"),
        pytest.param(NAMES, {DISCOVERY: None, OPTICS: DISCOVERY, NAMES: None}, id="a saved job"),
        pytest.param(OPTICS, {DISCOVERY: None, OPTICS: DISCOVERY}, id="what it already runs after"),
        pytest.param(OPTICS, {DISCOVERY: None, OPTICS: OTHER, OTHER: None}, id="another master than before"),
    ],
)
def test_a_chain_of_one_level_is_taken(job: int | None, master_of: dict[int, int | None]) -> None:
    check_master(job, DISCOVERY, master_of, CALLED)


@pytest.mark.parametrize(
    ("job", "master", "master_of", "told"),
    [
        pytest.param(OPTICS, OPTICS, {}, "Optics cannot run after itself", id="itself"),
        pytest.param(
            None,
            OPTICS,
            {OPTICS: DISCOVERY},
            "Optics itself runs after Discovery, and chains have one level: choose Discovery",
            id="a new job after a chained one",
        ),
        pytest.param(
            DISCOVERY,
            OPTICS,
            {OPTICS: DISCOVERY, DISCOVERY: None},
            "Optics itself runs after Discovery",
            id="a circle",
        ),
        pytest.param(
            DISCOVERY,
            OTHER,
            {OPTICS: DISCOVERY, NAMES: DISCOVERY, OTHER: None},
            "Discovery has jobs that run after it (Optics, Names), and chains have one level: "
            "let them run after Other instead",
            id="a job that is a master itself",
        ),
        pytest.param(
            9, 9, {}, "job 9 cannot run after itself", id="a job without a name is told by its number"
        ),
    ],
)
def test_other_chains_are_refused_with_what_to_do(
    job: int | None, master: int, master_of: dict[int, int | None], told: str
) -> None:
    with pytest.raises(ChainError) as refused:
        check_master(job, master, master_of, CALLED)
    assert str(refused.value).startswith(told)


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        pytest.param([], [], id="no nodes"),
        pytest.param([link(10, DISCOVERY)], [Composite(10)], id="a plain node is a composite of its own"),
        pytest.param(
            [
                link(10, DISCOVERY),
                link(13, OPTICS, DISCOVERY, priority=40),
                link(12, NAMES, DISCOVERY, priority=60),
                link(11, OTHER, DISCOVERY, priority=40),
            ],
            [Composite(10, (12, 11, 13))],
            id="parts run by priority, then by id",
        ),
        pytest.param(
            [link(11, OPTICS, DISCOVERY), link(10, DISCOVERY)],
            [Composite(10, (11,))],
            id="the order of the rows says nothing",
        ),
        pytest.param(
            [link(10, DISCOVERY, olt=7), link(11, OPTICS, DISCOVERY, olt=8)],
            [Composite(10), Composite(11)],
            id="on an OLT without the master a node is plain",
        ),
        pytest.param(
            [link(10, DISCOVERY), link(11, OPTICS, DISCOVERY, enabled=False)],
            [Composite(10)],
            id="a disabled part is left out",
        ),
        pytest.param(
            [link(10, DISCOVERY, enabled=False), link(11, OPTICS, DISCOVERY), link(12, OTHER)],
            [Composite(12)],
            id="the chain of a disabled master does not run alone",
        ),
        pytest.param(
            [link(10, DISCOVERY), link(11, OPTICS, DISCOVERY), link(12, NAMES, OPTICS)],
            [Composite(10, (11,)), Composite(12)],
            id="a second level, written by SQL, runs alone",
        ),
        pytest.param(
            [link(11, OPTICS, DISCOVERY), link(12, NAMES, OPTICS)],
            [Composite(11, (12,))],
            id="where the first master is missing the second level is the first",
        ),
        pytest.param(
            [link(10, DISCOVERY, OPTICS), link(11, OPTICS, DISCOVERY), link(12, OTHER, OTHER)],
            [Composite(10), Composite(11), Composite(12)],
            id="circles, written by SQL, run alone",
        ),
    ],
)
def test_nodes_that_run_as_one(links: list[Link], expected: list[Composite]) -> None:
    assert composites(links) == expected


def test_the_master_of_a_node() -> None:
    master, part, plain = link(10, DISCOVERY, enabled=False), link(11, OPTICS, DISCOVERY), link(12, OTHER)
    every = [master, part, plain]
    assert masters(every) == {11: 10}


def test_the_members_of_a_disabled_master() -> None:
    master, optics = link(10, DISCOVERY, enabled=False), link(11, OPTICS, DISCOVERY)
    links = [master, optics, link(12, NAMES, DISCOVERY, priority=90)]
    assert members(links, [10, 11, 99]) == {10: (10, 12, 11), 11: (11,)}


def test_the_master_is_on_the_same_olt() -> None:
    assert masters([link(11, OPTICS, DISCOVERY, olt=8), link(10, DISCOVERY, olt=7)]) == {}
