import contextlib
import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from evonorm.data import load_data, whole_batches
from evonorm.training import AverageRecipe, TrainingRecipe, TrainingRun, accuracy, load_checkpoint, save_checkpoint
from tests.data.real_cifar10 import real_cifar10
from tests.training import small_net, small_run

pytest.importorskip("sklearn")


def weights(run):
    return torch.cat([value.flatten().double() for value in run.task.model.state_dict().values()])


def test_a_small_net_learns_a_slice_of_cifar10():
    data = real_cifar10()
    data = replace(data, training=replace(data.training, rows=data.training.rows[:512]))
    run = small_run(data)
    assert run.advance(150) == "reached"
    first, last = (math.fsum(part) / 10 for part in (run.losses[:10], run.losses[-10:]))
    assert last < first - 0.3
    assert accuracy(run.task.model, whole_batches(data.training, 128, data.mean, data.std)) > 0.2


def test_a_seed_gives_the_same_run_and_another_gives_another():
    data = load_data("digits")
    runs = [small_run(data, seed=seed, dropout=0.3) for seed in (0, 0, 1)]
    for number, run in enumerate(runs):
        torch.manual_seed(number)  # the caller's generator must not matter
        run.advance(10)
    assert runs[0].losses == runs[1].losses
    assert torch.equal(weights(runs[0]), weights(runs[1]))
    assert runs[0].losses != runs[2].losses


def test_the_callers_generator_is_left_alone():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    small_run(load_data("digits"), dropout=0.3).advance(3)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_resumed_checkpoint_is_the_same_run_bit_for_bit(tmp_path):
    data, recipe = load_data("digits"), TrainingRecipe(steps=12, schedule="cosine", validate_every=4)

    straight = small_run(data, recipe, dropout=0.3)
    straight.advance(12, measure=True)
    broken = small_run(data, recipe, dropout=0.3)
    broken.advance(5, measure=True)
    save_checkpoint(broken, tmp_path / "runs" / "checkpoint.pt")
    resumed = small_run(data, recipe, dropout=0.3, net=small_net(seed=9, dropout=0.3))
    load_checkpoint(resumed, tmp_path / "runs" / "checkpoint.pt")
    resumed.advance(12, measure=True)
    assert resumed.losses == straight.losses
    assert resumed.curve == straight.curve
    assert [step for step, _ in resumed.curve] == [4, 8, 12]
    assert torch.equal(weights(resumed), weights(straight))


def test_a_checkpoint_of_a_run_in_progress_goes_on_with_its_own_chance(tmp_path):
    data, straight = load_data("digits"), small_run(load_data("digits"), dropout=0.3)

    def store(run):
        if run.step == 3:
            save_checkpoint(run, tmp_path / "checkpoint.pt")

    straight.advance(6, on_step=store)
    resumed = small_run(data, dropout=0.3)
    load_checkpoint(resumed, tmp_path / "checkpoint.pt")
    resumed.advance(6)
    assert resumed.losses == straight.losses


def test_a_checkpoint_of_another_recipe_or_kind_is_refused(tmp_path):
    data = load_data("digits")
    save_checkpoint(small_run(data), tmp_path / "checkpoint.pt")
    with pytest.raises(ValueError, match="another recipe"):
        load_checkpoint(small_run(data, TrainingRecipe(steps=7)), tmp_path / "checkpoint.pt")
    torch.save({"model": {}}, tmp_path / "other.pt")
    with pytest.raises(ValueError, match="not a checkpoint"):
        load_checkpoint(small_run(data), tmp_path / "other.pt")
    whole = (tmp_path / "checkpoint.pt").read_bytes()
    for place in range(0, len(whole), len(whole) // 12):
        for damaged in (whole[:place], whole[:place] + b"\xff" * 64 + whole[place + 64 :]):
            (tmp_path / "other.pt").write_bytes(damaged)
            with contextlib.suppress(ValueError):  # said, or not in a place that matters
                load_checkpoint(small_run(data), tmp_path / "other.pt")
    (tmp_path / "other.pt").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="is damaged or cut short"):
        load_checkpoint(small_run(data), tmp_path / "other.pt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint.pt", "other.pt"]


def test_the_updates_are_nesterov_sgd_with_decay_where_it_belongs():
    data, recipe = load_data("digits"), TrainingRecipe(learning_rate=0.05, weight_decay=0.1, momentum=0.8)
    run = small_run(data, recipe)
    twin = small_net(0).train()
    velocity = {name: torch.zeros_like(weight) for name, weight in twin.named_parameters()}
    for step in range(3):
        pictures, labels = run.task.batch(step, 0, 0)
        twin.zero_grad()
        F.cross_entropy(twin(pictures), labels).backward()
        with torch.no_grad():
            for name, weight in twin.named_parameters():
                gradient = weight.grad + (0 if name.startswith("1.") else 0.1) * weight
                velocity[name] = 0.8 * velocity[name] + gradient
                weight -= 0.05 * (gradient + 0.8 * velocity[name])
    run.advance(3)
    for (name, ours), theirs in zip(run.task.model.named_parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5, msg=name)


def test_a_loss_that_is_not_finite_ends_the_run_before_it_reaches_the_weights():
    class ExplodesAtStepThree(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.calls = small_net(), 0

        def forward(self, x):
            self.calls += 1
            return self.net(x) * (math.inf if self.calls == 4 else 1)

    run = small_run(load_data("digits"), net=ExplodesAtStepThree())
    assert run.advance(10) == "non_finite_loss"
    assert run.step == 3
    assert torch.isfinite(weights(run)).all()


def test_the_time_budget_ends_a_run():
    run = small_run(load_data("digits"), TrainingRecipe(seconds=1e-9))
    assert run.advance(10) == "out_of_time"
    assert run.step == 1


def test_cosine_goes_from_the_learning_rate_to_zero():
    recipe = TrainingRecipe(steps=10, schedule="cosine", learning_rate=0.4)
    rates = [recipe.learning_rate_at(step) for step in range(11)]
    assert rates[0] == 0.4
    assert rates[5] == pytest.approx(0.2)
    assert rates[10] == pytest.approx(0)
    assert rates == sorted(rates, reverse=True)
    seen = []
    run = small_run(load_data("digits"), recipe)
    run.advance(10, on_step=lambda run: seen.append(run.optimizers["classifier"].param_groups[0]["lr"]))
    assert seen == rates[:10]


@pytest.mark.parametrize(
    "setting", [{"steps": 0}, {"learning_rate": -1.0}, {"momentum": 1.0}, {"weight_decay": -1e-4}, {"seconds": 0.0}]
)
def test_impossible_recipes_are_refused(setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        TrainingRecipe(**setting)


def test_the_model_is_trained_in_channels_last():
    run = small_run(load_data("digits"))
    assert isinstance(run, TrainingRun)
    assert run.task.model[4].weight.is_contiguous(memory_format=torch.channels_last)


def test_the_average_is_measured_in_place_of_the_weights_and_leaves_them_alone():
    recipe = TrainingRecipe(steps=6, validate_every=3, average=AverageRecipe(decay=0.5, ramp=False))
    run = small_run(load_data("digits"), recipe)
    expected = [value.clone() for value in (*run.task.model.parameters(), *run.task.model.buffers())]
    floating = [value for value in expected if value.is_floating_point()]

    def follow(run):
        live = [v for v in (*run.task.model.parameters(), *run.task.model.buffers()) if v.is_floating_point()]
        for mine, value in zip(floating, live, strict=True):
            mine.copy_(0.5 * mine + 0.5 * value.detach())

    run.advance(6, measure=True, on_step=follow)
    torch.testing.assert_close(run.average.average, floating)
    assert list(run.measured) == ["accuracy (averaged weights)", "accuracy"]
    assert run.curve == run.measured["accuracy (averaged weights)"]
    before = weights(run)
    with run.average.in_their_place():
        assert not torch.equal(weights(run), before)
        assert accuracy(run.task.model, run.task.held_out()) == run.curve[-1][1]
    assert torch.equal(weights(run), before)


def test_plain_momentum_is_what_the_formula_says():
    recipe = TrainingRecipe(steps=3, optimizer="momentum", weight_decay=0.0, learning_rate=0.05, momentum=0.8)
    run = small_run(load_data("digits"), recipe)
    weight = run.task.model[8].bias
    value, velocity = weight.detach().clone(), torch.zeros(10)
    for step in range(3):
        before = weight.detach().clone()
        run.advance(step + 1)
        velocity = 0.8 * velocity + weight.grad
        torch.testing.assert_close(weight.detach(), before - 0.05 * velocity)
    assert not torch.equal(weight.detach(), value)


def test_an_average_that_starts_late_is_a_copy_until_then():
    recipe = TrainingRecipe(steps=6, average=AverageRecipe(decay=0.9, start=4, ramp=False))
    run = small_run(load_data("digits"), recipe)
    run.advance(4)
    first = run.task.model[0].weight.detach().clone()
    assert torch.equal(run.average.average[0], first)
    run.advance(5)
    torch.testing.assert_close(run.average.average[0], 0.9 * first + 0.1 * run.task.model[0].weight.detach())


def test_a_resumed_average_is_the_same(tmp_path):
    data, recipe = load_data("digits"), TrainingRecipe(steps=6, validate_every=3, average=AverageRecipe(decay=0.9))
    straight, broken, resumed = (small_run(data, recipe) for _ in range(3))
    straight.advance(6, measure=True)
    broken.advance(2)
    save_checkpoint(broken, tmp_path / "run.pt")
    load_checkpoint(resumed, tmp_path / "run.pt")
    resumed.advance(6, measure=True)
    assert all(map(torch.equal, resumed.average.average, straight.average.average))
    assert resumed.measured == straight.measured


def test_a_clipped_gradient_is_as_long_as_it_may_be():
    """One step from momentum zero: the weights move by rate * (1 + momentum) * clipped gradient."""
    recipe = TrainingRecipe(steps=1, weight_decay=0.0, clip=0.01, learning_rate=0.5, momentum=0.9)
    run = small_run(load_data("digits"), recipe)
    before = [weight.detach().clone() for weight in run.task.model.parameters()]
    run.advance(1)
    moved = torch.cat([(b - a.detach()).flatten() for a, b in zip(run.task.model.parameters(), before, strict=True)])
    assert moved.norm().item() == pytest.approx(0.5 * 1.9 * 0.01, rel=1e-3)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_a_run_in_half_precision_learns_what_a_whole_one_learns(precision, tmp_path):
    data = load_data("digits")
    whole, half = (small_run(data, TrainingRecipe(steps=40, precision=each)) for each in ("float32", precision))
    whole.advance(40)
    half.advance(20)
    save_checkpoint(half, tmp_path / "run.pt")
    resumed = small_run(data, half.recipe)
    load_checkpoint(resumed, tmp_path / "run.pt")
    for run in (half, resumed):
        run.advance(40)
    assert half.losses == resumed.losses
    assert half.losses != whole.losses
    assert math.fsum(half.losses[-10:]) == pytest.approx(math.fsum(whole.losses[-10:]), rel=0.1)
    assert next(half.task.model.parameters()).dtype == torch.float32
