"""Packets and arguments across the process boundary."""

import os
import socket

import pytest
import torch
from swage_model_host import channel, cpu, program, task
from swage_model_host.memory import Place, Shared


def test_a_packet_carries_its_descriptors() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    reader, writer = os.pipe()
    channel.send(ours, {"op": "map"}, [writer])
    packet = channel.receive(theirs)
    assert packet is not None
    assert packet.message == {"op": "map"}
    os.write(packet.descriptors[0], b"x")
    assert os.read(reader, 1) == b"x"
    ours.close()
    assert channel.receive(theirs) is None


def test_a_packet_that_is_too_long_is_not_sent() -> None:
    ours, _theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with pytest.raises(ValueError, match="too long"):
        channel.send(ours, {"op": "x" * channel.MAX_PACKET})


@pytest.mark.parametrize("value", [3, 0.5, None, True, "a", [1, [2]], (1, (2, "b")), {"k": (1, 2)}])
def test_arguments_survive_the_way(value: object) -> None:
    assert program.decode(task.encode(value)) == value


def test_an_argument_of_another_kind_is_named() -> None:
    with pytest.raises(task.TaskError, match="Tensor"):
        task.encode(torch.zeros(1))


def test_a_strided_tensor_is_stored_with_its_gaps_and_read_back() -> None:
    descriptor = os.memfd_create("test")
    os.ftruncate(descriptor, 4096)
    place = Place(64, torch.float32, (2, 3), (5, 1))
    source = torch.arange(10.0).reshape(2, 5)[:, :3]
    device = cpu.CpuDevice("")
    Shared(device.map(descriptor, 4096, writable=True)).store(place, source)
    again = Shared(device.map(descriptor, 4096, writable=False)).tensor(place)
    assert torch.equal(again, source)
    assert again.stride() == (5, 1)
