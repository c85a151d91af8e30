"""The figures of `make house`, on a package of three files."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import house
from benchmarks.house import House

FILES = {
    "__init__.py": '"""A package."""\n',
    "loose.py": (
        '"""A file."""\n'
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n"
        "    from knockoffs.room.loose import Other\n"
        "def f(self, a, *b, c=1, report=None, **d):\n"
        '    """Do nothing."""\n'
        "    from knockoffs.room import loose\n"
        "    return a.dtype.kind == 'f'\n"
    ),
    "room/__init__.py": "",
    "room/loose.py": (
        "import knockoffs.loose\n" + f"x = '{'x' * 100}'\n" + "def g(column, task):\n"
        "    return column.kind if task == 'regression' else 1\n"
    ),
}


@pytest.fixture
def small(tmp_path: Path) -> House:
    for name, text in FILES.items():
        file = tmp_path / "src" / "knockoffs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return House(tmp_path)


def test_statements_are_counted_without_docstrings(small: House) -> None:
    assert house.statements(small) == 6 + 4


def test_rooms_and_names(small: House) -> None:
    assert (house.entries(small), house.loose_files(small), house.equal_names(small)) == (2, 1, 1)
    assert house.long_lines(small) == f"{100 / 13:.1f} %"


def test_imports_for_types_alone_do_not_count(small: House) -> None:
    assert house.imports_per_module(small) == "0.50 (2)"


def test_what_files_ask_for(small: House) -> None:
    assert house.files_where(small, house.asks_for_kind) == 1  # not dtype.kind
    assert house.files_where(small, house.asks_for_task) == 1
    assert house.files_with_report(small) == "1 (1)"
    assert house.most_parameters(small) == "5 (loose.f)"
