"""Four workers of one host behind one limit, tidegate's and its peers' in turn: ``run.py RESULTS PYTHON``.

nginx is here as a reference of behaviour: its figure is requests over HTTP, not decisions.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "redis"), str(ROOT / "bench" / "python")]

from measure import Spread  # noqa: E402

from server import RedisServer  # noqa: E402

HERE = Path(__file__).parent
RESULTS, PYTHON = Path(sys.argv[1]), sys.argv[2]
ROUNDS = 3
MOST_SECONDS = 60
WORKERS, ASKED, ADMITTED = 4, 1000, 500

Figures = dict[str, float]


def program(*command: str, place: str) -> Figures:
    # The peer's module for Node is beside the other benchmarks' programs.
    output = subprocess.run([*command, place], cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=MOST_SECONDS)
    figures: Figures = json.loads(output.stdout)
    return figures


def python(who: str, place: str) -> Figures:
    return program(PYTHON, str(HERE / "workers.py"), who, place=place)


def node(who: str, place: str) -> Figures:
    return program("node", str(HERE / "workers.mjs"), who, place=place)


def in_folder(run: Callable[[str, str], Figures], who: str) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        return run(who, folder)


def over_table(run: Callable[[str, str], Figures]) -> Figures:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        return run("tidegate", f"shm://{folder}/limits?entries=1000")


def over_redis() -> Figures:
    with RedisServer() as server:
        return python("tidegate", server.url)


@contextlib.contextmanager
def listening(command: list[str], port: int) -> Iterator[None]:
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.02)
        yield
    finally:
        server.terminate()
        server.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def over_memcached() -> Figures:
    port = free_port()
    user = ["-u", "nobody"] if os.geteuid() == 0 else []
    with listening(["memcached", "-l", "127.0.0.1", "-p", str(port), *user], port):
        return python("limits", f"memcached://127.0.0.1:{port}")


NGINX = """
daemon off; master_process on; worker_processes {workers}; pid {folder}/pid; error_log {folder}/error emerg;
events {{ }}
http {{
  access_log off; client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder}; keepalive_requests 1000000;
  limit_req_status 429;
  limit_req_zone few zone=few:1m rate=1r/m;
  limit_req_zone plenty zone=plenty:1m rate=1000000r/s;
  server {{
    listen 127.0.0.1:{port} reuseport;
    root {folder};
    location /few {{ limit_req zone=few burst={burst} nodelay; }}
    location /plenty {{ limit_req zone=plenty burst=1000000 nodelay; }}
  }}
}}
"""


def nginx() -> Figures:
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        # A rate of one a minute with a burst: those of the burst at once, and one more.
        text = NGINX.format(workers=WORKERS, folder=folder, port=port, burst=ADMITTED - 1)
        (file := Path(folder) / "nginx.conf").write_text(text, encoding="utf-8")
        # As root it has workers of another user, who read these files.
        Path(folder).chmod(0o755)
        for name in ("few", "plenty"):
            (Path(folder) / name).write_text("hello", encoding="utf-8")
        with listening(["nginx", "-p", folder, "-c", str(file)], port), ThreadPoolExecutor(WORKERS) as clients:
            statuses = clients.map(lambda _: asked(port, "/few", ASKED // WORKERS), range(WORKERS))
            admitted = sum(of_one.count(200) for of_one in statuses)
            start = time.perf_counter()
            calls = sum(map(len, clients.map(lambda _: asked(port, "/plenty", ASKED), range(WORKERS))))
            return {"admitted": admitted, "per_second": calls / (time.perf_counter() - start)}


def asked(port: int, path: str, times: int) -> list[int]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    statuses = []
    for _ in range(times):
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
    connection.close()
    return statuses


OURS: dict[str, Callable[[], Figures]] = {
    "Python": lambda: over_table(python),
    "Node": lambda: over_table(node),
}
PEERS: dict[str, tuple[str, Callable[[], Figures]]] = {
    "tidegate over Redis": ("Python", over_redis),
    "tidegate, memory of each process": ("Python", lambda: python("tidegate", "memory://")),
    "limits over memcached": ("Python", over_memcached),
    "PyrateLimiter, SQLite": ("Python", lambda: in_folder(python, "pyrate-sqlite")),
    "PyrateLimiter, multiprocess": ("Python", lambda: python("pyrate-processes", "")),
    "token-throttle, SQLite": ("Python", lambda: in_folder(python, "token-throttle")),
    "nginx limit_req, over HTTP": ("Python", nginx),
    "rate-limiter-flexible, cluster": ("Node", lambda: node("rate-limiter-flexible", "")),
}


def main() -> None:
    # So that servers end as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    missing = [name for name in ("nginx", "memcached") if not shutil.which(name)]
    if missing:
        sys.exit(f"{' and '.join(missing)} must be installed")
    runs = {**OURS, **{peer: run for peer, (_, run) in PEERS.items()}}
    figures: dict[str, list[Figures]] = {who: [] for who in runs}
    for _ in range(ROUNDS):
        for who, run in runs.items():
            figures[who].append(run())
    rows = []
    for peer, (language, _) in PEERS.items():
        for what, figure, unit in (
            ("admitted in a second", "per_second", "/s"),
            (f"admitted of {ASKED}", "admitted", ""),
        ):
            ours, theirs = ([one[figure] for one in figures[who]] for who in (language, peer))
            ratio = Spread.of([one / other for one, other in zip(ours, theirs)])
            beside = {"name": peer, "figures": Spread.of(theirs).json(), "ratio": ratio.json()}
            name = f"{WORKERS} processes of {language}, {what}"
            rows.append(
                {"name": name, "unit": unit, "tidegate": Spread.of(ours).json(), "peer": beside, "target": None}
            )
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = RESULTS / "workers.json"
    file.write_text(json.dumps({"suite": "workers", "rows": rows}), encoding="utf-8")
    subprocess.run([sys.executable, str(ROOT / "bench" / "table.py"), str(file)], check=True)


if __name__ == "__main__":
    main()
