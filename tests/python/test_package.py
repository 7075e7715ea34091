"""Files of the installed package beside its code."""

from __future__ import annotations

import json
from importlib.metadata import distribution


def test_it_says_what_is_built_into_it() -> None:
    files = {path.name: path for path in distribution("tidegate").files or []}
    assert {"LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-NOTICES", "sbom.cdx.json"} <= set(files)
    bill = json.loads(files["sbom.cdx.json"].read_text())
    assert bill["bomFormat"] == "CycloneDX"
    names = {component["name"] for component in bill["components"]}
    assert {"tidegate", "pyo3", "redis", "rustls", "ring"} <= names
    assert not names & {"proptest", "napi"}, "what only tests or another package use is not in it"
    assert "path+file" not in json.dumps(bill), "nothing of the machine that built it"
    notices = " ".join(files["THIRD-PARTY-NOTICES"].read_text().split())
    for component in bill["components"]:
        # The code of this workspace goes under the licences beside the notices.
        if component["name"] != "tidegate":
            assert f"{component['name']} {component['version']} (" in notices
