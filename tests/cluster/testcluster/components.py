"""The command line of every program of the cluster."""

from __future__ import annotations

from testcluster.binaries import program
from testcluster.layout import (
    API_PORT,
    ETCD_URL,
    NODE_ADDRESS,
    NODE_NAME,
    SERVICE_RANGE,
    Layout,
)


def etcd(layout: Layout) -> list[str]:
    # Nothing here outlives the cluster, so etcd need not wait for the disk.
    return ["etcd", "--data-dir", f"{layout.root}/etcd", "--unsafe-no-fsync",
            "--listen-client-urls", ETCD_URL, "--advertise-client-urls", ETCD_URL,
            "--listen-peer-urls", "http://127.0.0.1:0", "--logger", "zap",
            "--log-level", "warn", "--quota-backend-bytes", str(2 << 30)]  # fmt: skip


def containerd(layout: Layout) -> list[str]:
    return ["containerd", "--config", f"{layout.config}/containerd.toml"]


def apiserver(layout: Layout) -> list[str]:
    pki = layout.pki
    return [
        str(program("kube-apiserver")),
        f"--etcd-servers={ETCD_URL}",
        f"--secure-port={API_PORT}",
        "--bind-address=0.0.0.0",
        f"--advertise-address={NODE_ADDRESS}",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        f"--tls-cert-file={pki}/apiserver.crt",
        f"--tls-private-key-file={pki}/apiserver.key",
        f"--client-ca-file={pki}/ca.crt",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--anonymous-auth=false",
        # Debian's etcd is too old to serve lists as streams: clients shall not wait for them.
        "--feature-gates=WatchList=false",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={pki}/service-account.pub",
        f"--service-account-signing-key-file={pki}/service-account.key",
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-client-certificate={pki}/kubelet-client.crt",
        f"--kubelet-client-key={pki}/kubelet-client.key",
        f"--kubelet-certificate-authority={pki}/ca.crt",
    ]


def controller_manager(layout: Layout) -> list[str]:
    kubeconfig = layout.kubeconfig("controller-manager")
    return [
        str(program("kube-controller-manager")),
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={layout.pki}/service-account.key",
        f"--root-ca-file={layout.pki}/ca.crt",
    ]


def scheduler(layout: Layout) -> list[str]:
    kubeconfig = layout.kubeconfig("scheduler")
    return [
        str(program("kube-scheduler")),
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
        # Its own limits (50/s) are for machines with work beside the scheduler.
        "--kube-api-qps=500",
        "--kube-api-burst=500",
    ]


def kubelet(layout: Layout) -> list[str]:
    return [
        str(program("kubelet")),
        f"--config={layout.config}/kubelet.json",
        f"--kubeconfig={layout.kubeconfig('kubelet')}",
        f"--root-dir={layout.root}/kubelet",
        f"--cert-dir={layout.root}/kubelet-pki",
        f"--hostname-override={NODE_NAME}",
        f"--node-ip={NODE_ADDRESS}",
    ]


def dns(layout: Layout) -> list[str]:
    return [str(program("coredns")), "-conf", f"{layout.config}/Corefile"]


def kwok(layout: Layout) -> list[str]:
    return [
        str(program("kwok")),
        f"--kubeconfig={layout.kubeconfig('kwok')}",
        f"--config={layout.config}/kwok.yaml",
        "--manage-nodes-with-label-selector=swage.dev/test-node=fake",
        "--cidr=10.219.0.0/16",
        "--node-ip=10.219.255.254",
        "--node-lease-duration-seconds=40",
        "--server-address=127.0.0.1:10247",
    ]
