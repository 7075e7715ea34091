"""Packages agree about themselves, and the workflows name what there is.

The workflows run elsewhere; here they are held against the project's recipes, files and platforms.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from pages import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
# What a job makes itself before a later step names it, and what is in a tarball.
MADE = ("dist", "package/", "node/addons", "node/dist", ".venv-dist")


def read(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = YAML(typ="safe").load(path)
    return loaded


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def targets(job: dict[str, Any]) -> set[str]:
    return {each["target"] for each in job["strategy"]["matrix"]["include"] if "target" in each}


def test_there_are_workflows() -> None:
    assert {path.stem for path in WORKFLOWS} >= {"test", "release", "audit"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_name_what_there_is(path: Path) -> None:
    recipes = re.findall(r"^(\$\(DIST_VENV\)|[a-z-]+)(?:/\.ready)?:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    scripts = json.loads((ROOT / "package.json").read_text())["scripts"]
    commands = "\n".join(step.get("run", "") for step in steps(read(path)))
    assert set(re.findall(r"make ([a-z][\w-]*)", commands)) <= set(recipes)
    assert set(re.findall(r"npm run ([\w:]+)", commands)) <= scripts.keys()
    crates = {package["name"] for package in metadata()}
    assert set(re.findall(r"--package (\S+)", commands)) <= crates
    for name in re.findall(r"(?<=\s)\.?[\w-]+/[\w./-]+(?=[\s\"']|$)", commands):
        assert name.startswith(MADE) or (ROOT / name).exists(), name


def metadata() -> list[dict[str, Any]]:
    command = ["cargo", "metadata", "--locked", "--no-deps", "--format-version=1"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    packages: list[dict[str, Any]] = json.loads(done.stdout)["packages"]
    return packages


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_need_no_trust(path: Path) -> None:
    text = path.read_text()
    uses = re.findall(r"uses: (\S+)( # v[\d.]+)?", text)
    assert uses
    for action, version in uses:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action), action
        assert version, f"{action}: the version that the commit is"
    assert "secrets." not in text, "registries trust the workflow, not a token"


def test_everything_is_built_that_is_promised() -> None:
    promised = set(json.loads((ROOT / "package.json").read_text())["napi"]["targets"])
    jobs = read(ROOT / ".github/workflows/release.yml")["jobs"]
    assert targets(jobs["addons"]) == promised
    assert targets(jobs["wheels"]) == set(jobs["wheels"]["strategy"]["matrix"]["target"]) == promised
    listed = re.search(r"^TARGETS = (\[.*?^\])", (ROOT / "tools/supply_chain.py").read_text(), re.MULTILINE | re.DOTALL)
    assert listed is not None
    assert set(re.findall(r'"(.+)"', listed[1])) == promised


def test_versions_that_are_promised_are_tested() -> None:
    jobs = read(ROOT / ".github/workflows/test.yml")["jobs"]
    project = (ROOT / "pyproject.toml").read_text()
    classified = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    assert jobs["python"]["strategy"]["matrix"]["version"] == classified
    assert f'requires-python = ">={classified[0]}"' in project
    rust = re.search(r'rust-version = "(.+)"', (ROOT / "Cargo.toml").read_text())
    assert rust is not None
    assert jobs["rust"]["strategy"]["matrix"]["toolchain"][0] == rust[1]
    engines = json.loads((ROOT / "package.json").read_text())["engines"]["node"]
    assert engines == f">={jobs['node']['strategy']['matrix']['version'][0]}"


@pytest.mark.parametrize("language", ["python", "node"])
def test_every_version_serves_the_web_frameworks(language: str) -> None:
    commands = [step.get("run", "") for step in read(ROOT / ".github/workflows/test.yml")["jobs"][language]["steps"]]
    assert {f"test-{language}", f"test-web-{language}"} <= set(" ".join(commands).split())
    recipes = (ROOT / "Makefile").read_text()
    assert re.search(rf"^test-web:.* test-web-{language}\b", recipes, re.MULTILINE)
    whole = recipes[recipes.index("\ntest: ##") : recipes.index("\nlint: ")]
    assert {f"test-web-{language}", f"untimed-{language}", f"timed-{language}"} <= set(whole.split()), "and all as one"


def test_all_packages_have_one_version() -> None:
    [version] = {package["version"] for package in metadata()}
    manifest = json.loads((ROOT / "package.json").read_text())
    lock = json.loads((ROOT / "package-lock.json").read_text())
    assert manifest["version"] == lock["version"] == lock["packages"][""]["version"] == version
    assert f'tidegate = {{ path = "core", version = "{version}" }}' in (ROOT / "Cargo.toml").read_text()
    # Its recipe changes nothing where it is the version already, and refuses what a registry would.
    tool = [sys.executable, str(ROOT / "tools/dist/version.py")]
    for wrong in ("1.2", "v1.2.3", "1.2.3+build", "latest"):
        assert subprocess.run([*tool, wrong], capture_output=True).returncode == 1, wrong


def test_one_command_changes_the_version_of_all_packages(tmp_path: Path) -> None:
    bills = ("python/sbom.cdx.json", "node/sbom.cdx.json")
    files = ("Cargo.toml", "Cargo.lock", "package.json", "package-lock.json")
    for name in (*files, *bills):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "tools/dist", tmp_path / "tools/dist")
    new = "98.7.6-rc.5"
    subprocess.run([sys.executable, str(tmp_path / "tools/dist/version.py"), new], check=True)
    changed = {name: (tmp_path / name).read_text().count(f'"{new}"') for name in files}
    # The workspace and its dependency on the crate; each crate; the package; the package and its lock.
    assert changed == {"Cargo.toml": 2, "Cargo.lock": len(metadata()), "package.json": 1, "package-lock.json": 2}
    for name in bills:
        bill = json.loads((tmp_path / name).read_text())
        listed = [bill["metadata"]["component"], *bill["components"]]
        assert {each["version"] for each in listed if each["name"].startswith("tidegate")} == {new}
        assert set(re.findall(r"tidegate[\w-]*@([^\"]+)", json.dumps(bill))) == {new}


def test_every_file_of_the_engines_tests_is_run() -> None:
    """Few programs hold them all, and a file that none of them names would not be compiled."""
    folder = ROOT / "core" / "tests"
    manifest = (ROOT / "core" / "Cargo.toml").read_text()
    programs = set(re.findall(r'^\[\[test\]\]\nname = "(\w+)"', manifest, re.MULTILINE))
    roots = [folder / f"{name}.rs" for name in programs if (folder / f"{name}.rs").exists()]
    named = {name for root in roots for name in re.findall(r"^mod (\w+);", root.read_text(), re.MULTILINE)}
    assert {path.stem for path in folder.glob("*.rs")} == {root.stem for root in roots} | {
        name for name in named if (folder / f"{name}.rs").exists()
    }
    assert {path.parent.name for path in folder.glob("*/main.rs")} <= programs
