import pytest

from facho.core.outage import OutageCause, OutageSize, cause_of, is_new_outage, is_over


@pytest.mark.parametrize(
    ("fallen", "onus", "is_mass"),
    [
        (8, 64, True),
        (7, 64, False),
        (4, 8, True),
        (3, 8, False),
        (5, 9, True),
        # Half of two is one, and one is no mass.
        (1, 2, False),
        (2, 2, True),
        (2, 4, True),
        (1, 1, False),
    ],
)
def test_eight_onus_or_half_of_the_port_are_a_mass(fallen: int, onus: int, is_mass: bool) -> None:
    assert OutageSize().reached(fallen, onus) is is_mass


def test_both_limits_can_be_set() -> None:
    assert OutageSize(onus=100, share=25).reached(16, 64)
    assert not OutageSize(onus=100, share=26).reached(16, 64)


@pytest.mark.parametrize(
    ("causes", "cause"),
    [
        (["power_off"] * 3, OutageCause.POWER_CUT),
        (["los"] * 3, OutageCause.FIBRE_CUT),
        (["los", "signal", "power_off"], OutageCause.FIBRE_CUT),
        # Not every ONU has the breath to tell.
        (["power_off", "power_off", "los", "", "unknown"], OutageCause.POWER_CUT),
        (["power_off", "los"], OutageCause.UNKNOWN),
        (["", "reboot", "disabled"], OutageCause.UNKNOWN),
        ([], OutageCause.UNKNOWN),
    ],
)
def test_the_cause_is_what_most_of_them_say(causes: list[str], cause: OutageCause) -> None:
    assert cause_of(causes) is cause


def test_it_is_over_when_most_are_back() -> None:
    assert not is_over(7, 10)
    assert is_over(8, 10)
    # Nobody is left to wait for.
    assert is_over(0, 0)


@pytest.mark.parametrize(
    ("fresh", "back", "another"), [(20, 30, True), (20, 20, False), (3, 30, False), (0, 39, False)]
)
def test_another_outage_of_the_same_port(fresh: int, back: int, another: bool) -> None:
    assert is_new_outage(fresh, 64, back=back, affected=40, mass=OutageSize()) is another
