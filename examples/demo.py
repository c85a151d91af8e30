"""`make demo`: knockoffs of a real table (measurements of breast cell nuclei), and a picture of them."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer

from knockoffs import DDLK
from knockoffs.plots import compare_knockoffs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the picture and the tables")
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    X = load_breast_cancer(as_frame=True).data
    console = Console()
    console.print(
        f"Fitting DDLK to {X.shape[0]} rows and {X.shape[1]} columns; seven in ten rows are for training …"
    )
    shuffled = X.sample(frac=1, random_state=0)
    fitted, held_out = shuffled[:400], shuffled[400:]
    model = DDLK(random_state=0, progress=True).fit(fitted)
    X_tilde = model.sample(X)

    table = Table(title="Features and their knockoffs")
    for heading in ("feature", "mean", "knockoff mean", "sd", "knockoff sd", "correlation"):
        table.add_column(heading, justify="left" if heading == "feature" else "right")
    for name in X.columns[:8]:
        numbers = (
            X[name].mean(),
            X_tilde[name].mean(),
            X[name].std(),
            X_tilde[name].std(),
            X[name].corr(X_tilde[name]),
        )
        table.add_row(name, *(f"{number:.3g}" for number in numbers))
    console.print(table)
    divergence = model.swap_divergence(held_out)
    console.print(
        f"Swap divergence on {len(held_out)} held-out rows, by the model's own density: "
        f"{divergence.value:.2f} ± {divergence.standard_error:.2f} nats (exact knockoffs: 0)"
    )
    picture, model_file = folder / "knockoffs.png", folder / "ddlk.safetensors"
    compare_knockoffs(X.to_numpy(), X_tilde.to_numpy(), list(X.columns)).savefig(picture, dpi=150)
    model.save(model_file)
    console.print(f"Picture: {picture}\nModel:   {model_file}")


if __name__ == "__main__":
    main()
