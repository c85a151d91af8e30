"""`knockoffs demo`: the whole job on real data, with columns that are known to tell nothing."""

from __future__ import annotations

from pathlib import Path

import click

from knockoffs.cli.common import check_draws, run_options
from knockoffs.cli.results import Named, check_paths, result_files, say_verdict, write_results
from knockoffs.cli.terminal import say, shows_progress
from knockoffs.runtime.outputs import write_atomically

GENERATOR = "ddlk"
STATISTIC = "midpoint"  # it is exact, takes one model per fold, and finds curves
IMAGES = 1200  # of 1,797, so that the demo ends within a minute
LEAST_DEVIATION = 1.0  # of a pixel that is used: at the border nearly all images are blank
PICTURE = "pixels.png"


@click.command()
@click.option(
    "--fdr",
    type=float,
    default=0.2,
    show_default=True,
    help="Share of false discoveries you accept.",
)
@click.option(
    "--draws", type=int, default=1, show_default=True, help="Knockoff draws to combine by e-values."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    default="out",
    show_default=True,
    help="Folder for results, picture and report.",
)
@run_options
def demo(fdr: float, draws: int, out: str, seed: int, quiet: bool) -> None:
    """Find pixels that distinguish handwritten digits among columns that tell nothing.

    Images of handwritten digits come with scikit-learn. Beside every pixel stands a copy whose rows
    are shuffled: selecting such a copy is certainly a false discovery, so you can see how many
    there are.
    """
    check_draws(draws)
    report, picture = str(Path(out) / "report.html"), Path(out) / PICTURE
    check_paths(
        [], [*result_files(out, report, None), Named("--out", str(picture))], new_folder=out
    )
    from sklearn.datasets import load_digits

    from knockoffs.cli.demo_picture import as_png, as_text, pixel_flags
    from knockoffs.datasets.known_truth import add_null_columns, is_null
    from knockoffs.selection.selector import KnockoffSelector

    X, digit = (part[:IMAGES] for part in load_digits(return_X_y=True, as_frame=True))
    pixels, digit = X.loc[:, X.std() >= LEAST_DEVIATION], digit.rename("digit")
    table = add_null_columns(pixels, random_state=seed)
    if not quiet:
        say("Which pixels distinguish handwritten digits?")
        say(
            f"{len(table):,} images, {pixels.shape[1]} pixels, and a shuffled copy of each pixel, "
            f"which knows "
            "nothing about the digit. This takes less than a minute …"
        )
    selector = KnockoffSelector(
        GENERATOR,
        STATISTIC,
        fdr=fdr,
        n_draws=draws,
        random_state=seed,
        progress=shows_progress(quiet),
    )
    selector.fit(table, digit)
    written = write_results(selector, "handwritten digits of scikit-learn", out, report, None)
    found = selector.selection_.discoveries
    false = sum(map(is_null, found))
    selected = pixel_flags(name for name in found if not is_null(name))
    write_atomically(picture, as_png(pixels, digit, selected))
    if not quiet:
        say(
            f"\n{as_text(selected, pixel_flags(pixels.columns))}\n\n  ■ selected   · not selected\n"
        )
        say(selector.selection_.explanation)
        say_verdict(selector)
    say(
        f"{false} of {len(found)} discoveries are shuffled copies, known to be false "
        f"({false / max(len(found), 1):.0%}; accepted: {fdr:.0%} on average)."
    )
    say(f"Picture: {picture}")
    for line in written:
        say(line)
