"""OCI archives: an image layout in one tar, which ctr, skopeo, podman and buildah read."""

from __future__ import annotations

import hashlib
import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from swage_images.definition import PREFIX, USER, Image
from swage_images.layer import Entry, Layer, add

LAYER = "application/vnd.oci.image.layer.v1.tar+zstd"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


@dataclass(frozen=True)
class Identity:
    """What the labels say; the digest follows from it and the layers."""

    version: str
    revision: str
    created: str  # time of the revision


@dataclass(frozen=True)
class Blob:
    content: bytes

    @property
    def digest(self) -> str:
        return "sha256:" + hashlib.sha256(self.content).hexdigest()

    def descriptor(self, kind: str) -> dict[str, Any]:
        return {"mediaType": kind, "digest": self.digest, "size": len(self.content)}


def text(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def labels(image: Image, identity: Identity) -> dict[str, str]:
    prefix = "org.opencontainers.image"
    return {
        f"{prefix}.title": image.title,
        f"{prefix}.description": image.description,
        f"{prefix}.version": identity.version,
        f"{prefix}.revision": identity.revision,
        f"{prefix}.created": identity.created,
        "dev.swage.sbom": "/usr/share/swage/sbom.spdx.json",
    }


def config(image: Image, layers: list[Layer], identity: Identity) -> Blob:
    path = f"/{PREFIX}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    run: dict[str, Any] = {
        "User": f"{USER}:{USER}",
        "Env": [f"PATH={path}", "LANG=C.UTF-8"],
        "WorkingDir": "/",
        "Labels": labels(image, identity),
    }
    if image.entrypoint:
        run["Entrypoint"] = image.entrypoint
    return Blob(
        text(
            {
                "architecture": "amd64",
                "os": "linux",
                "created": identity.created,
                "config": run,
                "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
                "history": [
                    {"created": identity.created, "created_by": "swage_images"} for _ in layers
                ],
            }
        )
    )


def write(file: Path, reference: str, image: Image, layers: list[Layer], identity: Identity) -> str:
    """Writes the archive and returns the image's digest: that of its manifest."""
    settings = config(image, layers, identity)
    manifest = Blob(
        text(
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": settings.descriptor(CONFIG),
                "layers": [
                    {"mediaType": LAYER, "digest": layer.digest, "size": layer.size}
                    for layer in layers
                ],
                "annotations": labels(image, identity),
            }
        )
    )
    named = {
        **manifest.descriptor(MANIFEST),
        "platform": {"architecture": "amd64", "os": "linux"},
        "annotations": {
            "io.containerd.image.name": reference,
            "org.opencontainers.image.ref.name": reference,
        },
    }
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [named]}
    entries = [
        Entry("oci-layout", text({"imageLayoutVersion": "1.0.0"})),
        Entry("index.json", text(index)),
        Entry("blobs/"),
        Entry("blobs/sha256/"),
        Entry(place(manifest.digest), manifest.content),
        Entry(place(settings.digest), settings.content),
        *(Entry(place(layer.digest), layer.blob) for layer in layers),
    ]
    part = file.with_suffix(".part")
    with tarfile.open(part, "w", format=tarfile.PAX_FORMAT) as tar:
        for entry in entries:
            add(tar, entry)
    part.replace(file)
    return manifest.digest


def place(digest: str) -> str:
    return "blobs/" + digest.replace(":", "/")
