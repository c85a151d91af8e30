"""Laws of the training loop."""

import math

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn

from knockoffs.density.training import Schedule, TrainingDivergedError, train
from knockoffs.runtime.progress import heard_by


class Number(nn.Module):
    """A model with one weight."""

    def __init__(self, value=0.0):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([float(value)], dtype=torch.float64))

    def set(self, value):
        with torch.no_grad():
            self.weight.fill_(value)

    def get(self):
        return self.weight.item()


def run(
    model, *, step, validate, epochs=5, patience=100, averaging=0.0, rows=1, batch_size=1, seed=0
):
    return train(
        model,
        stage="toy",
        rows=rows,
        step=step,
        validate=validate,
        schedule=Schedule(epochs, batch_size, patience, averaging),
        generator=torch.Generator().manual_seed(seed),
    )


def walk(model, places):
    """A step that takes the weight to one place after the other."""
    places = iter(places)

    def step(batch, share):
        model.set(next(places))
        return 1.0

    return step


held_out_losses = st.lists(st.integers(-5, 5).map(float), min_size=2, max_size=8)


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(held_out_losses, st.integers(1, 4))
def test_best_weights_are_restored_and_patience_ends_training(losses, patience):
    """The weight is the epoch's number; the held-out loss of epoch e is losses[e]."""
    model = Number(0)
    epochs = len(losses) - 1
    history = run(
        model,
        step=walk(model, range(1, epochs + 1)),
        validate=lambda: losses[round(model.get())],
        epochs=epochs,
        patience=patience,
    )
    best, last = 0, 0
    for last in range(1, epochs + 1):
        if losses[last] < losses[best]:
            best = last
        if last - best == patience:
            break
    assert history.held_out == losses[: last + 1]
    assert history.best_epoch == best
    assert model.get() == best


def test_a_start_that_training_cannot_beat_is_kept():
    model = Number(3)
    history = run(model, step=walk(model, [2, 1, 7, 8, 9]), validate=lambda: abs(model.get() - 3))
    assert model.get() == 3
    assert history.best_epoch == 0
    assert history.held_out == [0, 1, 2, 4, 5, 6]
    assert math.isnan(history.train[0])


def test_held_out_loss_is_of_the_averaged_weights_and_steps_are_of_the_raw_ones():
    model = Number(0)
    places, decay = [1.0, -3.0, 4.0, 1.0, 5.0, -9.0], 0.75
    met_by_step, met_by_validate = [], []
    walk_on = walk(model, places)

    def step(batch, share):
        met_by_step.append(model.get())
        return walk_on(batch, share)

    def validate():
        met_by_validate.append(model.get())
        return -abs(model.get())

    run(model, step=step, validate=validate, epochs=3, rows=2, averaging=decay)
    mean, means = 0.0, [0.0]
    for place in places:
        mean = decay * mean + (1 - decay) * place
        means.append(mean)
    assert met_by_step == [0.0, *places[:-1]]
    assert met_by_validate == pytest.approx(means[::2], abs=1e-12)
    assert model.get() == pytest.approx(max(means[::2], key=abs), abs=1e-12)


def test_train_loss_is_the_mean_over_batches_and_share_grows_from_zero():
    model = Number()
    losses, shares = iter([1.0, 2.0, 6.0, 0.0, 0.0, 3.0]), []

    def step(batch, share):
        shares.append(share)
        return next(losses)

    history = run(model, step=step, validate=lambda: 0.0, epochs=2, rows=3)
    assert history.train[1:] == [3.0, 1.0]
    assert shares == [0, 0, 0, 0.5, 0.5, 0.5]


def test_report_hears_of_every_epoch():
    model, heard = Number(0), []
    with heard_by(lambda *news: heard.append(news)):
        run(model, step=walk(model, [4, 2, 6]), validate=lambda: model.get(), epochs=3)
    assert heard == [("toy", 1, 3, 4.0), ("toy", 2, 3, 2.0), ("toy", 3, 3, 6.0)]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", ["step", "validate"])
@pytest.mark.parametrize("when", [0, 1, 3])
def test_a_loss_that_is_no_number_is_an_error_that_says_where(bad, where, when):
    if (where, when) == ("step", 0):
        when = 2  # there is no step before the first epoch
    model = Number(0)
    walk_on = walk(model, range(1, 6))

    def step(batch, share):
        walk_on(batch, share)
        return bad if where == "step" and model.get() == when else 1.0

    def validate():
        return bad if where == "validate" and model.get() == when else 1.0

    with pytest.raises(TrainingDivergedError, match=rf"'toy'.* epoch {when}\b"):
        run(model, step=step, validate=validate)


def _batches_of_each_epoch(rows, batch_size, epochs=3, seed=0):
    seen = []

    def step(batch, share):
        seen.append(batch)
        return 0.0

    run(
        Number(),
        step=step,
        validate=lambda: 0.0,
        epochs=epochs,
        rows=rows,
        batch_size=batch_size,
        seed=seed,
    )
    per_epoch = len(seen) // epochs
    assert per_epoch * epochs == len(seen)
    return [seen[e * per_epoch : (e + 1) * per_epoch] for e in range(epochs)]


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(st.integers(1, 300), st.integers(1, 100))
def test_every_epoch_takes_each_row_once_in_batches_of_about_the_asked_size(rows, batch_size):
    for batches in _batches_of_each_epoch(rows, batch_size):
        assert torch.equal(torch.cat(batches).sort().values, torch.arange(rows))
        sizes = [len(batch) for batch in batches]
        assert max(sizes) - min(sizes) <= 1
        assert max(sizes) <= 1.5 * batch_size + 1
        assert min(sizes) >= min(rows, 2 / 3 * batch_size - 1)


def test_batches_are_shuffled_anew_by_the_given_generator_alone():
    orders = [torch.cat(batches).tolist() for batches in _batches_of_each_epoch(50, 10)]
    before = torch.random.get_rng_state()
    again = [torch.cat(batches).tolist() for batches in _batches_of_each_epoch(50, 10)]
    assert torch.equal(before, torch.random.get_rng_state())
    assert orders == again
    other = [torch.cat(batches).tolist() for batches in _batches_of_each_epoch(50, 10, seed=1)]
    assert len({tuple(order) for order in orders + other}) == 6
    assert list(range(50)) not in orders


def _regression(seed):
    data = torch.Generator().manual_seed(5)
    x = torch.randn(60, 2, generator=data)
    y = x @ torch.tensor([[1.0], [-2.0]]) + 0.1 * torch.randn(60, 1, generator=data)
    model = nn.Linear(2, 1)
    with torch.no_grad():
        model.weight.zero_()
        model.bias.zero_()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)

    def step(batch, share):
        loss = (model(x[batch]) - y[batch]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        return loss.item()

    @torch.no_grad()
    def validate():
        return (model(x) - y).square().mean().item()

    history = run(
        model,
        step=step,
        validate=validate,
        rows=60,
        batch_size=10,
        averaging=0.9,
        epochs=30,
        seed=seed,
    )
    return model, history, validate()


def test_same_seed_same_bits_and_the_model_carries_its_best_loss():
    (first, history, loss), (second, again, _), (other, _, _) = (
        _regression(seed) for seed in (0, 0, 1)
    )
    assert torch.equal(first.weight, second.weight)
    assert history.held_out == again.held_out
    assert not torch.equal(first.weight, other.weight)
    assert loss == min(history.held_out)
    assert loss < 0.02


@pytest.mark.parametrize(("smallest", "epochs"), [(0.01, 40), (0.05, 2)])
def test_steps_that_are_smaller_than_what_counts_as_a_gain_end_training(smallest, epochs):
    # patience ends before two epochs have gained .05
    losses = iter([1.0 - 0.02 * epoch for epoch in range(100)])
    history = train(
        torch.nn.Linear(1, 1),
        "steps",
        10,
        lambda batch, share: 0.0,
        lambda: torch.full((5,), next(losses)),
        Schedule(40, 10, patience=2, least_gain=1.0),
        torch.Generator(),
        smallest_gain=smallest,
    )
    assert len(history.held_out) - 1 == epochs
