"""A shared store over TLS, with certificates that the test makes."""

from __future__ import annotations

import pickle
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server import RedisServer, free_port
from tidegate import Bucket, Limiter, StoreError

LOGIN = Bucket("login", size=10)
CERTIFICATES = [
    "req -x509 -newkey rsa:2048 -nodes -days 1 -keyout ca.key -out ca.pem -subj /CN=tests",
    "req -newkey rsa:2048 -nodes -keyout key.pem -out request.pem -subj /CN=tests -addext subjectAltName=DNS:localhost",
    "x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 1 -copy_extensions copy -out cert.pem",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that has certificates."""
    folder = tmp_path_factory.mktemp("certificates")
    for command in CERTIFICATES:
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)
    (folder / "both.pem").write_bytes((folder / "cert.pem").read_bytes() + (folder / "key.pem").read_bytes())
    return folder


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    port = free_port()
    files = {"cert": "cert.pem", "key": "key.pem", "ca-cert": "ca.pem"}
    options = [word for name, file in files.items() for word in (f"--tls-{name}-file", str(folder / file))]
    with RedisServer("--tls-port", str(port), *options):
        yield f"rediss://localhost:{port}"


def limiter(url: str, folder: Path, **files: str) -> Limiter:
    named: dict[str, Any] = {name: folder / file for name, file in files.items()}
    return Limiter(url, timeout=10, on_error="raise", **named)


@pytest.mark.parametrize(
    "files",
    [
        {"ssl_ca_certs": "ca.pem", "ssl_certfile": "cert.pem", "ssl_keyfile": "key.pem"},
        {"ssl_ca_certs": "ca.pem", "ssl_certfile": "both.pem"},
    ],
    ids=["two files", "one file"],
)
def test_both_sides_show_certificates(url: str, folder: Path, files: dict[str, str]) -> None:
    made = limiter(url, folder, **files)
    assert not made.limit(LOGIN, "ada").degraded
    again: Limiter = pickle.loads(pickle.dumps(made))
    assert not again.limit(LOGIN, "ada").degraded
    in_the_url = "&".join(f"{name}={folder / file}" for name, file in {"ssl_keyfile": "both.pem", **files}.items())
    assert not Limiter(f"{url}?{in_the_url}", timeout=10, on_error="raise").limit(LOGIN, "ada").degraded


@pytest.mark.parametrize(
    "files", [{}, {"ssl_ca_certs": "ca.pem"}, {"ssl_certfile": "both.pem"}], ids=["none", "no own", "unknown authority"]
)
def test_nothing_is_decided_over_a_connection_that_is_not_trusted(
    url: str, folder: Path, files: dict[str, str]
) -> None:
    with pytest.raises(StoreError):
        limiter(url, folder, **files).limit(LOGIN, "ada")
