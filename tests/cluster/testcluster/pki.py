"""The cluster's certificates: one authority, one certificate for each who talks to the API server.

Everybody gets the identity that a production cluster would give, so RBAC and the Node authorizer
decide as they would there. Only `admin`, who stands for the person at the keyboard, is in
system:masters.
"""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from testcluster.layout import API_SERVICE_ADDRESS, NODE_ADDRESS, NODE_NAME


@dataclass(frozen=True)
class Identity:
    """Common name = user, organization = group; a server also names the addresses it answers at."""

    file: str
    user: str
    group: str = ""
    addresses: tuple[str, ...] = ()


LOCAL_NAMES = (
    "DNS:localhost",
    "DNS:kubernetes",
    "DNS:kubernetes.default",
    "DNS:kubernetes.default.svc",
    "IP:127.0.0.1",
)
IDENTITIES = (
    Identity(
        "apiserver",
        "kube-apiserver",
        addresses=(*LOCAL_NAMES, f"IP:{API_SERVICE_ADDRESS}", f"IP:{NODE_ADDRESS}"),
    ),
    Identity("kubelet-server", NODE_NAME, addresses=(f"DNS:{NODE_NAME}", f"IP:{NODE_ADDRESS}")),
    Identity("kubelet-client", "swage-test-apiserver"),
    Identity("admin", "swage-test-admin", "system:masters"),
    Identity("controller-manager", "system:kube-controller-manager"),
    Identity("scheduler", "system:kube-scheduler"),
    Identity("kubelet", f"system:node:{NODE_NAME}", "system:nodes"),
    Identity("kwok", "swage-test-kwok"),
    Identity("dns", "swage-test-dns"),
)


def openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def make_key(file: Path) -> None:
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", file)
    file.chmod(0o600)


def make_authority(folder: Path) -> None:
    make_key(folder / "ca.key")
    openssl("req", "-x509", "-new", "-key", folder / "ca.key", "-subj", "/CN=swage-test-ca",
            "-days", "30", "-out", folder / "ca.crt")  # fmt: skip


def issue(folder: Path, identity: Identity) -> None:
    """A key and a certificate signed by the authority, for 30 days."""
    key, request = folder / f"{identity.file}.key", folder / f"{identity.file}.csr"
    group = f"/O={identity.group}" if identity.group else ""
    make_key(key)
    openssl("req", "-new", "-key", key, "-subj", f"{group}/CN={identity.user}", "-out", request)
    usage = "serverAuth" if identity.addresses else "clientAuth"
    lines = [f"extendedKeyUsage={usage}", "keyUsage=digitalSignature"]
    if identity.addresses:
        lines.append("subjectAltName=" + ",".join(identity.addresses))
    extensions = folder / f"{identity.file}.ext"
    extensions.write_text("\n".join(lines) + "\n")
    openssl("x509", "-req", "-in", request, "-CA", folder / "ca.crt", "-CAkey", folder / "ca.key",
            "-set_serial", str(IDENTITIES.index(identity) + 2), "-days", "30",
            "-extfile", extensions, "-out", folder / f"{identity.file}.crt")  # fmt: skip


def make(folder: Path) -> None:
    """All certificates, and the key pair that signs ServiceAccount tokens."""
    folder.mkdir(parents=True, mode=0o700)
    make_authority(folder)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda identity: issue(folder, identity), IDENTITIES))
    make_key(folder / "service-account.key")
    openssl("ec", "-in", folder / "service-account.key", "-pubout",
            "-out", folder / "service-account.pub")  # fmt: skip
