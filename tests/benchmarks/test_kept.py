"""Results that are kept as files: they are those of the runs, and pages of the site show them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.experiments import kept, pages
from benchmarks.experiments.catalogue import EXPERIMENTS
from benchmarks.experiments.experiment import Run
from benchmarks.experiments.figures import CURVE
from benchmarks.experiments.origin import NOT_RECORDED, Origin, origin_here, together
from benchmarks.experiments.store import Result, Store
from benchmarks.experiments.summary import means, means_of_rates, rates

HERE = Origin("abc1234", "two cores of a kind")


def result(seed: int, *, known: bool = True, origin: Origin = HERE) -> Result:
    rng = np.random.default_rng(seed)
    relevant = np.arange(40) < 12
    names = [f"x{j}" for j in range(40)]
    columns = {"response": "10/√N", "statistic": "lasso", "feature": names, "unit": names}
    columns |= {"w": rng.normal(size=40) + 2 * relevant}
    table = pd.DataFrame(
        columns | {"relevant": pd.array(relevant if known else [None] * 40, dtype="boolean")}
    )
    return Result(table, {"knockoffs": 1.0 + seed, "lasso of 10/√N": 0.5}, origin=origin)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "runs")
    for replicate in range(3):
        for k, method in enumerate(("ddlk", "gaussian")):
            store.write(Run("gaussian", "rho-0.6", method, replicate), result(10 * k + replicate))
        store.write(Run("clinical", "stays", "gaussian", replicate), result(replicate, known=False))
    return store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "results"


def test_what_is_kept_are_the_rates_of_the_runs(store: Store, folder: Path) -> None:
    assert kept.keep(store, folder) == ["gaussian", "clinical"]
    experiment = EXPERIMENTS["gaussian"]
    results, found = store.read(experiment), kept.kept("gaussian", folder)
    levels = sorted({*experiment.levels, *CURVE.tolist()})
    pd.testing.assert_frame_equal(
        found, rates(results, levels), check_dtype=False, check_exact=True
    )
    shown = means_of_rates(found[found["level"].isin(experiment.levels)])
    pd.testing.assert_frame_equal(shown, means(results, experiment.levels), check_dtype=False)


def test_where_no_truth_is_known_w_is_kept(store: Store, folder: Path) -> None:
    kept.keep(store, folder)
    found = kept.kept("clinical", folder)
    np.testing.assert_array_equal(found["w"], store.read(EXPERIMENTS["clinical"])["w"])
    assert "level" not in found


def test_times_are_medians_and_sums(store: Store, folder: Path) -> None:
    kept.keep(store, folder)
    table = kept.kept_table(kept.TIMES, folder)
    own = table[table["experiment"] == "gaussian"].set_index(["what", "name"])["value"]
    assert own[kept.FITS, "ddlk"] == 2.0  # of 1, 2 and 3 seconds
    assert own[kept.FITS, "gaussian"] == 12.0
    assert own[kept.STATISTICS, "lasso"] == 0.5
    assert own[kept.HOURS, ""] == pytest.approx((6 + 36 + 6 * 0.5) / 3600, abs=0.005)


def test_commit_and_hardware_go_with_the_results(store: Store, folder: Path) -> None:
    other = Origin("def5678", "a GPU")
    store.write(Run("gaussian", "rho-0.6", "gaussian", 2), result(12, origin=other))
    kept.keep(store, folder)
    gaussian, others = kept.sources_in_words(["gaussian", "gene", "hiv"], folder)
    assert gaussian.startswith("`gaussian`: ")
    assert "commit abc1234 and def5678; two cores of a kind; a GPU." in gaussian
    assert others == f"`gene`, `hiv`: commit {NOT_RECORDED}; hardware {NOT_RECORDED}."


def test_runs_that_do_not_say_where_they_were_made_are_not_recorded(
    store: Store, folder: Path
) -> None:
    for path in store.folder.rglob("*.json"):
        path.write_text(
            path.read_text(encoding="utf-8").replace('"origin"', '"nothing"'), encoding="utf-8"
        )
    kept.keep(store, folder)
    (said,) = kept.sources_in_words(["gaussian"], folder)
    assert f"commit {NOT_RECORDED}; {NOT_RECORDED}." in said


def test_keeping_replaces_an_experiment_and_nothing_else(store: Store, folder: Path) -> None:
    folder.mkdir()
    for name, line in (
        (kept.TIMES, "gene,core-hours,,3.18"),
        (kept.SOURCES, "gene,then,c0ffee,a machine,"),
    ):
        columns = {
            kept.TIMES: "experiment,what,name,value",
            kept.SOURCES: "experiment,date,commit,hardware,remark",
        }
        (folder / name).write_text(f"# A remark.\n{columns[name]}\n{line}\n", encoding="utf-8")
    kept.keep(store, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    kept.keep(store, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    for name in (kept.TIMES, kept.SOURCES):
        text = (folder / name).read_text(encoding="utf-8")
        assert text.startswith("# A remark.\n")
        assert text.count("gene,") == 1
    assert kept.sources_in_words(["gene"], folder) == ["`gene`: then, commit c0ffee; a machine."]


def test_this_machine_is_named() -> None:
    here = origin_here("cpu")
    assert here.hardware.startswith(f"{os.cpu_count()} core")
    assert here.commit
    assert together([here, here]) == here


# pages


def test_the_pages_show_what_is_kept() -> None:
    """Every table and every source on them is what `python -m benchmarks page` makes of the
    files.
    """
    for name, parts in (("paper.md", pages.paper_parts()), ("index.md", pages.reader_parts())):
        page = (pages.DOCS / name).read_text(encoding="utf-8")
        for place, text in parts.items():
            assert pages.filled_in(page, place, text) == page, (
                f"{name}: run `python -m benchmarks page`"
            )


def test_every_figure_of_the_pages_is_there() -> None:
    drawn = set(pages.figures())
    assert {"fdp.png", "power.png", "time.png"} <= drawn
    text = "".join(
        (pages.DOCS / name).read_text(encoding="utf-8") for name in ("paper.md", "index.md")
    )
    for name in drawn:
        assert f"]({name})" in text
        assert (pages.DOCS / name).is_file()


def test_the_figures_for_readers_draw_the_means() -> None:
    for value in ("fdp", "power"):
        figure = pages.along_the_level(value)
        for axes, panel in zip(figure.axes, pages.PANELS, strict=True):
            results = kept.kept(panel.experiment)
            own = results[results["statistic"] == pages.DEFAULT]
            own = own[(own["variant"] == panel.variant) & (own["response"] == panel.response)]
            at = own[(own["level"] == 0.2) & (own["method"] == "ddlk")]
            (line,) = [line for line in axes.lines if line.get_label() == "ddlk"]
            assert dict(zip(*line.get_data(), strict=True))[0.2] == pytest.approx(at[value].mean())


def test_the_figure_of_time_draws_the_medians() -> None:
    (axes,) = pages.seconds_of_methods().axes
    table = kept.kept_table(kept.TIMES)
    own = table[(table["what"] == kept.FITS) & (table["name"] == "ddlk")]
    (line,) = [line for line in axes.lines if line.get_label() == "ddlk"]
    np.testing.assert_array_equal(line.get_xdata(), own["value"])
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert [labels[int(row)] for row in line.get_ydata()] == own["experiment"].tolist()


def test_what_exceeds_its_level_is_in_bold() -> None:
    frame = pd.DataFrame(
        {
            "statistic": "lasso",
            "method": ["a", "b"],
            "replicates": 9,
            "level": 0.1,
            "fdp": [0.13, 0.11],
        }
        | {"fdp_error": 0.01, "power": 1.0, "power_error": 0.0}
    )
    cells = pages.rates_table(frame, truth=True)["q = 0.1"].tolist()
    assert cells == ["**0.130 ± 0.010** / 1.000 ± 0.000", "0.110 ± 0.010 / 1.000 ± 0.000"]
    assert "**" not in "".join(pages.rates_table(frame, truth=False)["q = 0.1"])


def test_a_page_without_a_place_is_told() -> None:
    with pytest.raises(ValueError, match="no place <!-- there -->"):
        pages.filled_in("<!-- here --> <!-- end -->", "there", "text")
