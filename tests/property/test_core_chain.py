"""Composites, for any rows that a database may hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from facho.core.chain import ChainError, Link, check_master, composites, masters, members

JOBS = st.integers(1, 5)
LINKS = st.lists(
    st.builds(
        Link,
        node_id=st.integers(1, 1000),
        job_id=JOBS,
        olt_id=st.integers(1, 3),
        master_job_id=st.none() | JOBS,
        priority=st.integers(1, 100),
        enabled=st.booleans(),
    ),
    max_size=15,
    unique_by=(lambda link: link.node_id, lambda link: (link.job_id, link.olt_id)),
)


@given(LINKS)
def test_a_node_is_in_one_composite_at_most_and_only_while_enabled(links: list[Link]) -> None:
    listed = [node for each in composites(links) for node in (each.master, *each.chained)]
    assert len(listed) == len(set(listed))
    assert set(listed) <= {link.node_id for link in links if link.enabled}


@given(LINKS)
def test_an_enabled_node_is_left_out_only_for_its_disabled_master(links: list[Link]) -> None:
    listed = {node for each in composites(links) for node in (each.master, *each.chained)}
    enabled = {link.node_id for link in links if link.enabled}
    for link in links:
        if link.enabled and link.node_id not in listed:
            master = masters(links).get(link.node_id)
            assert master is not None
            assert master not in enabled


@given(LINKS)
def test_both_ways_to_ask_for_the_master_agree(links: list[Link]) -> None:
    by_id, found = {link.node_id: link for link in links}, masters(links)
    for each in composites(links):
        assert each.master not in found
        assert members(links, [each.master]) == {each.master: each.members}
        for part in each.chained:
            assert found[part] == each.master
            assert by_id[part].olt_id == by_id[each.master].olt_id


@given(LINKS)
def test_the_order_of_the_rows_changes_no_composite(links: list[Link]) -> None:
    assert set(composites(links)) == set(composites(links[::-1]))


@given(st.lists(st.tuples(JOBS, JOBS), max_size=30))
def test_what_is_never_refused_is_never_deeper_than_one_level(wishes: list[tuple[int, int]]) -> None:
    master_of: dict[int, int | None] = dict.fromkeys(range(1, 6))
    for job, master in wishes:
        try:
            check_master(job, master, master_of, {})
        except ChainError:
            continue
        master_of[job] = master
    masters = {master for master in master_of.values() if master is not None}
    assert all(master_of[master] is None for master in masters)
