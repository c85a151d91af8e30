"""The package that others install: built, installed without the source tree,
and run from another folder.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from sklearn.datasets import load_diabetes

import knockoffs

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def run(*command: object, folder: Path) -> str:
    """Run a command that has to succeed, and return what it prints."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        folder,
        ROOT,
        folder=folder,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment with the wheel and, from the environment of this test,
    its dependencies.

    Their path is no folder of site packages there, so the editable install of this project has no
    effect.
    """
    folder = tmp_path_factory.mktemp("clean") / "environment"
    venv.create(folder, with_pip=False)
    names = {"base": str(folder), "platbase": str(folder)}
    commands, packages = (
        Path(sysconfig.get_path(name, "venv", names)) for name in ("scripts", "purelib")
    )
    options = ("install", "--quiet", "--no-deps", "--no-index")
    run(
        sys.executable, "-m", "pip", "--python", commands / "python", *options, wheel, folder=folder
    )
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return commands


def test_the_wheel_holds_what_is_not_code_too(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    expected = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and path.suffix != ".pyc" and "egg-info" not in str(path)
    }
    assert expected <= held
    assert "knockoffs/py.typed" in held
    assert any(name.endswith(".html.j2") for name in held)
    assert not [name for name in held if name.startswith(("tests", "benchmarks", "docs"))]


def test_the_installed_wheel_runs_without_the_source_tree(installed: Path, tmp_path: Path) -> None:
    where = run(
        installed / "python", "-c", "import knockoffs; print(knockoffs.__file__)", folder=tmp_path
    )
    assert Path(where.strip()).is_relative_to(installed.parent)
    assert (
        run(installed / "knockoffs", "--version", folder=tmp_path)
        .strip()
        .endswith(PROJECT["version"])
    )
    load_diabetes(as_frame=True, scaled=False).frame.to_csv(tmp_path / "diabetes.csv", index=False)
    options = (
        "--target target --generator gaussian --statistic lasso --fdr 0.3 --quiet --out "
        "found --report page.html"
    )
    run(installed / "knockoffs", "select", "diabetes.csv", *options.split(), folder=tmp_path)
    found = json.loads((tmp_path / "found" / "selection.json").read_text(encoding="utf-8"))
    assert "bmi" in found["discoveries"]
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_version_is_written_once_and_cited_alike() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {PROJECT['version']}\n" in citation
    assert f"\n## [{PROJECT['version']}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sources = [
        path
        for path in (ROOT / "src").rglob("*.py")
        if PROJECT["version"] in path.read_text("utf-8")
    ]
    assert sources == []


def test_the_minimum_versions_are_those_that_were_tested() -> None:
    lines = (ROOT / "constraints-minimum.txt").read_text(encoding="utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    asked = dict(line.split(">=") for line in PROJECT["dependencies"])
    assert asked.keys() <= tested.keys()
    for name, version in asked.items():
        assert re.fullmatch(rf"{re.escape(version)}(\.0)*", tested[name]), name


@pytest.mark.parametrize("name", knockoffs.__all__)
def test_every_public_name_is_documented_with_an_example(name: str) -> None:
    described = getattr(knockoffs, name).__doc__ or ""
    assert ">>> " in described  # pytest runs it
    assert described.strip().partition("\n")[0].rstrip().endswith((".", "]"))
