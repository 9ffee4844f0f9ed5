"""Control packets: one JSON object a packet over SOCK_SEQPACKET, descriptors beside it."""

import array
import json
import os
import socket
from dataclasses import dataclass
from typing import Any

MAX_PACKET = 65536
MAX_DESCRIPTORS = 32

Message = dict[str, Any]


@dataclass(frozen=True)
class Packet:
    """What arrived: the object and the descriptors that came with it, now owned by the reader."""

    message: Message
    descriptors: list[int]


def send(channel: socket.socket, message: Message, descriptors: list[int] | None = None) -> None:
    """Sends one packet; the caller keeps its descriptors. Raises OSError when the peer has gone."""
    data = json.dumps(message, separators=(",", ":")).encode()
    if len(data) > MAX_PACKET:
        raise ValueError("control packet too long")
    ancillary = []
    if descriptors:
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
    channel.sendmsg([data], ancillary)


def receive(channel: socket.socket) -> Packet | None:
    """Waits for one packet; nothing when the peer has closed."""
    space = socket.CMSG_SPACE(MAX_DESCRIPTORS * array.array("i").itemsize)
    data, ancillary, _, _ = channel.recvmsg(MAX_PACKET + 1, space, socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
    if not data:
        for descriptor in descriptors:
            os.close(descriptor)
        return None
    return Packet(json.loads(data), list(descriptors))
