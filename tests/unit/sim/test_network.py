"""What becomes of an answer on its way."""

from facho.sim.network import Delivery, Network
from facho.sim.scenario import Scenario

DATAGRAM = bytes(range(200))


def deliveries(scenario: Scenario, times: int = 1000) -> list[list[Delivery]]:
    path = Network(scenario, seed=1)
    return [path.deliver(DATAGRAM) for _ in range(times)]


def test_a_plain_path_delivers_once_at_once_and_whole() -> None:
    assert deliveries(Scenario(), 3) == [[Delivery(0.0, DATAGRAM)]] * 3


def test_answers_are_lost_in_about_the_fraction_asked() -> None:
    lost = sum(not each for each in deliveries(Scenario(answer_loss=0.1)))
    assert 60 < lost < 140


def test_the_same_seed_loses_the_same_answers() -> None:
    scenario = Scenario(answer_loss=0.3, jitter_s=1.0, corrupt=0.5)
    assert deliveries(scenario) == deliveries(scenario)


def test_some_answers_come_twice() -> None:
    twice = sum(len(each) == 2 for each in deliveries(Scenario(duplicate=0.2)))
    assert 140 < twice < 260


def test_delay_is_latency_and_up_to_the_jitter() -> None:
    delays = [each[0][0] for each in deliveries(Scenario(latency_s=0.5, jitter_s=0.2))]
    assert 0.5 <= min(delays) < 0.51
    assert 0.69 < max(delays) < 0.7


def test_reordered_answers_are_held_back() -> None:
    late = sum(each[0][0] == 0.05 for each in deliveries(Scenario(reorder=0.1)))
    assert 60 < late < 140


def test_answers_above_a_size_are_lost() -> None:
    assert deliveries(Scenario(lose_answers_over=199), 1) == [[]]
    assert deliveries(Scenario(lose_answers_over=200), 1) == [[Delivery(0.0, DATAGRAM)]]


def test_answers_are_cut() -> None:
    assert deliveries(Scenario(truncate_at=17), 1) == [[Delivery(0.0, DATAGRAM[:17])]]


def test_damage_changes_exactly_one_octet() -> None:
    for [(_, damaged)] in deliveries(Scenario(corrupt=1.0), 50):
        assert len(damaged) == len(DATAGRAM)
        assert sum(one != other for one, other in zip(damaged, DATAGRAM, strict=True)) == 1


def test_requests_are_lost_too() -> None:
    path = Network(Scenario(request_loss=0.5), seed=3)
    assert 400 < sum(path.loses_request() for _ in range(1000)) < 600
