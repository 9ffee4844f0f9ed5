"""The bill of materials of an image, SPDX 2.3 as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from urllib.parse import quote

from swage_images.debian import Package

PLACE = "usr/share/swage/sbom.spdx.json"


@dataclass(frozen=True)
class Component:
    name: str
    version: str
    url: str  # package URL


def of_debian(packages: list[Package]) -> list[Component]:
    return [
        Component(
            p.name,
            p.version,
            f"pkg:deb/debian/{quote(p.name)}@{quote(p.version)}?arch=amd64&distro=debian-12",
        )
        for p in packages
    ]


def of_python(packages: list[tuple[str, str]]) -> list[Component]:
    return [Component(n, v, f"pkg:pypi/{quote(n)}@{quote(v)}") for n, v in packages]


def element(number: int, component: Component) -> dict[str, object]:
    return {
        "SPDXID": f"SPDXRef-{number}",
        "name": component.name,
        "versionInfo": component.version,
        "downloadLocation": "NOASSERTION",
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "filesAnalyzed": False,
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": component.url,
            }
        ],
    }


def document(
    image: str, version: str, revision: str, created: str, parts: list[Component]
) -> bytes:
    """Component 0 is the image itself and contains the others."""
    own = Component(f"swage-{image}", version, f"pkg:generic/swage-{image}@{version}")
    elements = [element(number, part) for number, part in enumerate([own, *parts])]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-0")]
    relations += [("SPDXRef-0", "CONTAINS", f"SPDXRef-{n}") for n in range(1, len(elements))]
    spdx = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"swage-{image}-{version}",
        "documentNamespace": f"https://swage.dev/sbom/{image}/{version}/{revision}",
        "creationInfo": {"created": created, "creators": ["Tool: swage_images"]},
        "packages": elements,
        "relationships": [
            {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
            for a, kind, b in relations
        ],
    }
    return json.dumps(spdx, indent=1, sort_keys=True).encode() + b"\n"
