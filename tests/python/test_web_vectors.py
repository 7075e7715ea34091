"""The rules that all frameworks share, as all languages are tested for them."""

import json
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any

import pytest

from tidegate import LimitError, client_of
from tidegate._http import Gate
from tidegate._tidegate import (
    _Denials,
    _key_of,
    _Names,
    _request_error,
    _request_error_parts,
    _route_name,
    _template,
)

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/web.json").read_text())
NAMES = {"trustedProxies": "trusted_proxies"}


def gate(options: dict[str, Any], scope: str) -> Gate:
    given: Any = {NAMES.get(name, name): value for name, value in options.items()}
    return Gate(scope=scope, **given)


def test_actors() -> None:
    for address, prefix, actor in VECTORS["clients"]:
        if actor is None:
            with pytest.raises(LimitError):
                client_of(address, prefix)
        else:
            assert client_of(address, ipv6_prefix=prefix) == actor
    for key, actor in VECTORS["keys"]:
        assert _key_of(key) == actor
    wrong: Any
    for wrong, value in ((1.5, "1.5"), (-64, "-64"), (300, "300"), ("64", '"64"'), (None, "None")):
        with pytest.raises(LimitError) as caught:
            client_of("::1", wrong)
        assert (caught.value.field, caught.value.value) == ("ipv6_prefix", value)


def test_an_address_of_the_standard_library_is_one() -> None:
    assert client_of(IPv6Address("2001:db8:1:2::7")) == "ip:2001:db8:1:2::/64"
    for wrong in (None, 7, b"203.0.113.9"):
        with pytest.raises(LimitError) as caught:
            client_of(wrong)  # type: ignore[arg-type]
        assert caught.value.field == "address"


def test_names() -> None:
    for syntax, path, template in VECTORS["templates"]:
        assert _template(path, syntax) == template
    for methods, template, name in VECTORS["names"]:
        assert _route_name(methods, template) == name
    names = _Names()
    for name, place, granted in VECTORS["claims"]:
        assert names.claim(name, place) is granted


def test_request_errors() -> None:
    for case in VECTORS["request errors"]:
        name = _request_error(case["field"], case["value"])
        assert name == case["name"], case
        if name is not None:
            assert _request_error_parts(name)[0] == case["status"]
    for case in VECTORS["rejections"]:
        refusal = gate(case["options"], "").rejection(case["name"], case["accept"])
        assert (refusal.status, dict(refusal.headers)) == (case["status"], case["headers"])
        body = refusal.body.decode()
        assert (json.loads(body) if isinstance(case["body"], dict) else body) == case["body"]


def test_denials() -> None:
    for case in VECTORS["denials"]:
        denials = _Denials()
        for (now, count), (told, before) in zip(case["at"], case["told"], strict=True):
            found = [note for _ in range(count) if (note := denials.note(now)) is not None]
            assert [len(found), found[0] if found else 0] == [told, before], case["says"]


def test_warnings_about_proxies(caplog: pytest.LogCaptureFixture) -> None:
    for index, case in enumerate(VECTORS["forwarded"]):
        caplog.clear()
        client = gate(case["options"], f"test_warnings_about_proxies {index}").client(case["peer"], case["lines"])
        assert client == case["actor"], case["says"]
        # Other tests' stores may still log, from a thread and without a code.
        codes = [record.tidegate_code for record in caplog.records if hasattr(record, "tidegate_code")]
        assert codes == ([case["mistake"]] if case["mistake"] else []), case["says"]
