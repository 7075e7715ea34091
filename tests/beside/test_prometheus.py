"""A real Prometheus loads the alert rules, scrapes a program that exports its metrics, and answers the dashboard."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

from prometheus_client import CollectorRegistry, start_http_server

from tidegate import Bucket, Limiter, TokenBucket
from tidegate.prometheus import Collector

ROOT = Path(__file__).parents[2]
RULES = ROOT / "examples/prometheus/rules.yml"
DASHBOARD = ROOT / "examples/prometheus/dashboard.json"
PROGRAMS = Path(os.environ.get("PROMETHEUS", ROOT / "target/prometheus/usr/bin"))
PATIENCE = 120


def test_the_rules_are_sound() -> None:
    told = subprocess.run([PROGRAMS / "promtool", "check", "rules", RULES], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert "8 rules found" in told.stdout


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def prometheus(folder: Path, target: int) -> Iterator[str]:
    """One that scrapes this port every second, and the URL of its API."""
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [{"job_name": "app", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}],
    }
    # JSON is YAML.
    (folder / "prometheus.yml").write_text(json.dumps(config))
    address = f"127.0.0.1:{free_port()}"
    command = [PROGRAMS / "prometheus", f"--config.file={folder / 'prometheus.yml'}"]
    command += [f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={address}"]
    with (folder / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield f"http://{address}/api/v1"
        finally:
            process.terminate()


def eventually(api: str, query: str) -> list[dict[str, str]]:
    """The labels and the value of each result, once there is one."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            with urlopen(f"{api}/query?query={quote(query)}") as response:
                result = json.load(response)["data"]["result"]
        except OSError:
            result = []
        if result:
            return [{**one["metric"], "value": one["value"][1]} for one in result]
        time.sleep(0.2)
    raise AssertionError(f"no result of {query}")


def test_prometheus_reads_the_numbers_and_the_rules(tmp_path: Path) -> None:
    limiter, registry = Limiter(), CollectorRegistry()
    registry.register(Collector(limiter))
    for _ in range(3):
        limiter.limit(Bucket("login", size=2, drip_rate=3_600_000), "ada")
    soon = TokenBucket("soon", count=1, period=100)
    waits = [limiter.acquire(soon, "ada", max_wait=10).wait_ms for _ in range(5)]
    server, thread = start_http_server(0, "127.0.0.1", registry)
    try:
        with prometheus(tmp_path, server.server_port) as api:
            decided = eventually(api, "sum by (limit, outcome) (tidegate_decisions_total)")
            found = {(one["limit"], one["outcome"]): one["value"] for one in decided}
            login = {outcome: value for (limit, outcome), value in found.items() if limit == "login"}
            assert login == {"allowed": "2", "denied": "1", "failed": "0"}
            assert eventually(api, "tidegate_entries")[0]["value"] == "2"
            most = "histogram_quantile(1, sum by (limit, le) (tidegate_wait_duration_seconds_bucket))"
            [waited] = eventually(api, most)
            assert waited["limit"] == "soon"
            # The bound of the bucket of the longest wait.
            assert float(waited["value"]) * 1000 >= max(waits)
            panels = json.loads(DASHBOARD.read_text())["panels"]
            ask = [target["expr"] for panel in panels for target in panel["targets"]]
            assert any("histogram_quantile(0.99, " in query for query in ask)
            for query in ask:
                query = query.replace("$__rate_interval", "1m").replace("$job", ".*").replace("$limit", ".*")
                with urlopen(f"{api}/query?query={quote(query)}") as response:
                    assert json.load(response)["status"] == "success"
            with urlopen(f"{api}/rules") as response:
                groups = json.load(response)["data"]["groups"]
            assert [rule["type"] for group in groups for rule in group["rules"]] == ["alerting"] * 8
            assert "health" in groups[0]["rules"][0]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
