"""`knockoffs demo`: the whole job on real data, with columns that are known to tell nothing."""

from __future__ import annotations

from pathlib import Path

import click

from knockoffs.cli.common import check_draws, run_options
from knockoffs.cli.paths import check_paths
from knockoffs.cli.results import result_files, say_verdict, say_where, show_selection, write_results
from knockoffs.cli.terminal import say, shows_progress
from knockoffs.interrupts import interrupts_end_the_process

SEEN = 1.0  # least standard deviation of a pixel that is used: at the border all images are blank


@click.command()
@click.option("--fdr", type=float, default=0.1, show_default=True, help="Share of false discoveries you accept.")
@click.option("--draws", type=int, default=1, show_default=True, help="Knockoff draws to combine by e-values.")
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    default="out",
    show_default=True,
    help="Folder for results and report.",
)
@run_options
def demo(fdr: float, draws: int, out: str, seed: int, quiet: bool) -> None:
    """Which pixels tell handwritten digits apart? Half of the columns are known to tell nothing.

    1,797 images of digits by 13 people come with scikit-learn. Beside every pixel stands a copy whose rows are
    shuffled: selecting such a copy is certainly a false discovery, so you can see how many there are.
    """
    check_draws(draws)
    report = str(Path(out) / "report.html")
    check_paths([], result_files(out, report, None), new_folder=out)
    with interrupts_end_the_process():  # what takes seconds to import is imported when the work begins
        from sklearn.datasets import load_digits

        from knockoffs.datasets.nulls import add_null_columns, is_null
        from knockoffs.selector import KnockoffSelector

    X, y = load_digits(return_X_y=True, as_frame=True)
    table = add_null_columns(X.loc[:, X.std() >= SEEN], random_state=seed)
    if not quiet:
        say(f"{len(table):,} images, {table.shape[1]} columns, half of them shuffled copies. A minute or two …")
    selector = KnockoffSelector(fdr=fdr, n_draws=draws, random_state=seed, progress=shows_progress(quiet))
    selector.fit(table, y)
    written = write_results(selector, "handwritten digits of scikit-learn", out, report, None)
    if not quiet:
        show_selection(selector.selection_)
        say_verdict(selector)
    found = selector.selection_.discoveries
    false = sum(map(is_null, found))
    say(
        f"{false} of {len(found)} discoveries are shuffled copies, known to be false "
        f"({false / max(len(found), 1):.0%}; accepted: {fdr:.0%} on average)."
    )
    say_where(written)
