"""Process 1 of the cluster's namespaces: it owns every process of the cluster.

`up` starts it inside new mount, network and process namespaces. When it dies, however it dies, the
kernel ends all that it started, and their mounts and network devices go with the namespaces.

1. Private mounts over /run, /var/log and /var/lib: containerd, runc and kubelet have paths there
   that no option moves. Then the loopback device and the pods' bridge.
2. Commands come one JSON object a line on the control socket: {"start": name, "argv": […]},
   {"kill": name, "signal": n}, {"list": true}. An answer is one line.
3. Connections to the inherited listening socket, which belongs to the namespace outside, are passed
   on to the API server inside.

Threads: the main one reaps children; one serves commands; one passes connections on.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from testcluster.layout import (
    API_PORT,
    API_SERVICE_ADDRESS,
    BRIDGE,
    DNS_ADDRESS,
    NODE_ADDRESS,
    Layout,
)


class Machine:
    """Children by name. `lock` guards them: commands and the reaper come on different threads."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.lock = threading.Lock()
        self.running: dict[str, int] = {}
        self.ended: dict[str, int] = {}

    def start(self, name: str, argv: list[str]) -> None:
        with self.lock:
            if name in self.running:
                raise ValueError(f"{name} runs already")
            with (self.layout.logs / f"{name}.log").open("ab") as log:
                child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            self.running[name] = child.pid
            self.ended.pop(name, None)
            # The reaper, and not Popen, hears of its end.
            child.returncode = 0

    def kill(self, name: str, number: int) -> None:
        with self.lock:
            os.kill(self.running[name], number)

    def reap(self) -> None:
        """Waits for children for ever: ours by name, and orphans, whom process 1 adopts."""
        subprocess.Popen(["sleep", "infinity"]).returncode = 0  # so that there is always a child
        while True:
            pid, status = os.wait()
            with self.lock:
                for name in [n for n, p in self.running.items() if p == pid]:
                    del self.running[name]
                    self.ended[name] = os.waitstatus_to_exitcode(status)

    def obey(self, command: dict[str, Any]) -> dict[str, Any]:
        if "start" in command:
            self.start(command["start"], command["argv"])
        elif "kill" in command:
            self.kill(command["kill"], int(command["signal"]))
        with self.lock:
            return {"running": dict(self.running), "ended": dict(self.ended)}

    def serve(self, listener: socket.socket) -> None:
        while True:
            connection, _ = listener.accept()
            with connection, connection.makefile("rw") as stream:
                for line in stream:
                    try:
                        answer = self.obey(json.loads(line))
                    except (OSError, KeyError, ValueError) as error:
                        answer = {"error": f"{type(error).__name__}: {error}"}
                    stream.write(json.dumps(answer) + "\n")
                    stream.flush()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # one side is gone: the other is closed too
    finally:
        writer.close()


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        inner_reader, inner_writer = await asyncio.open_connection(API_SERVICE_ADDRESS, API_PORT)
    except OSError:
        writer.close()  # the API server is down: so looks it from outside
        return
    await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))


async def forward(listener: socket.socket) -> None:
    server = await asyncio.start_server(pass_on, sock=listener)
    async with server:
        await server.serve_forever()


def shell(*argv: str) -> None:
    subprocess.run(argv, check=True)


def prepare(layout: Layout) -> None:
    """Mounts and network of the namespaces; /proc is new already."""
    shell("mount", "--make-rshared", "/")
    for path in ("/run", "/var/log", "/var/lib"):
        shell("mount", "-t", "tmpfs", "-o", "mode=755", "swage-test-cluster", path)
    shell("ip", "link", "set", "lo", "up")
    shell("ip", "link", "add", BRIDGE, "type", "bridge")
    shell("ip", "address", "add", f"{NODE_ADDRESS}/20", "dev", BRIDGE)
    for service in (API_SERVICE_ADDRESS, DNS_ADDRESS):
        shell("ip", "address", "add", f"{service}/32", "dev", BRIDGE)
    shell("ip", "link", "set", BRIDGE, "up")
    # A kubelet finds its address by the default route.
    shell("ip", "route", "add", "default", "dev", BRIDGE)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    layout.logs.mkdir(exist_ok=True)


def main() -> None:
    layout = Layout(Path(sys.argv[1]))
    outside = socket.socket(fileno=int(sys.argv[2]))
    prepare(layout)
    machine = Machine(layout)
    control = socket.socket(socket.AF_UNIX)
    control.bind(str(layout.control) + ".new")
    control.listen()
    threading.Thread(target=machine.serve, args=(control,), daemon=True).start()
    threading.Thread(target=lambda: asyncio.run(forward(outside)), daemon=True).start()
    Path(str(layout.control) + ".new").rename(layout.control)  # from here on it can be asked
    machine.reap()


if __name__ == "__main__":
    main()
