from select import POLLHUP, POLLIN

from swage_model_host.zygote import safe_order


def test_a_host_without_owner_is_killed_before_its_descriptor_can_be_another_hosts() -> None:
    ended, parent, client, fate = 9, 3, 5, 7
    ready = [(parent, POLLIN), (ended, POLLIN), (client, POLLIN), (fate, POLLHUP)]
    assert safe_order(ready, {fate}, ended) == [
        (fate, POLLHUP),
        (ended, POLLIN),
        (parent, POLLIN),
        (client, POLLIN),
    ]
