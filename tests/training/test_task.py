"""The contract between loop and task, tried on what the paper's other studies need: two nets, many losses, workers."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from evonorm.data import load_data
from evonorm.training import Measure, TrainingRecipe, TrainingRun, Turn, load_checkpoint, save_checkpoint
from tests.training import small_net, small_run

pytest.importorskip("sklearn")


class ToyGAN:
    """As BigGAN will be: a discriminator that moves twice a step, then a generator at a quarter of its rate."""

    def __init__(self, seed=0):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.generator = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
            self.discriminator = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1))
        self.model = nn.ModuleDict({"generator": self.generator, "discriminator": self.discriminator})
        critic = Turn("discriminator", self.discriminator, self.critic_losses)
        self.turns = (critic, critic, Turn("generator", self.generator, self.generator_losses, rate=0.25))
        self.asked = []

    def batch(self, step, worker, turn):
        self.asked.append((step, worker, turn))
        generator = torch.Generator().manual_seed(1000 * step + 10 * turn + worker)
        return torch.randn(16, 2, generator=generator) + 3, torch.randn(16, 4, generator=generator)

    def critic_losses(self, batch):
        real, latent = batch
        fake = self.generator(latent).detach()
        return {
            "real": F.relu(1 - self.discriminator(real)).mean(),
            "fake": F.relu(1 + self.discriminator(fake)).mean(),
        }

    def generator_losses(self, batch):
        return {"generator": -self.discriminator(self.generator(batch[1])).mean()}

    def measure(self, step):
        with torch.no_grad():
            centre = self.generator.eval()(self.batch(step, 0, 9)[1]).mean(0)
        return Measure("distance", float((centre - 3).norm()), more_is_better=False), Measure("x", float(centre[0]))


GAN = TrainingRecipe(steps=8, learning_rate=0.05, momentum=0.5, validate_every=4)


def weights(model):
    return torch.cat([value.flatten().double() for value in model.state_dict().values()])


def test_nets_take_turns_with_their_own_optimizers_and_rates():
    task = ToyGAN()
    run = TrainingRun(task, GAN, seed=0)
    before = {name: copy.deepcopy(net.state_dict()) for name, net in task.model.items()}
    assert run.advance(1) == "reached"
    assert task.asked == [(0, 0, 0), (0, 0, 1), (0, 0, 2)]
    assert set(run.optimizers) == {"discriminator", "generator"}
    rates = {name: each.param_groups[0]["lr"] for name, each in run.optimizers.items()}
    assert rates == {"discriminator": 0.05, "generator": 0.0125}
    for name, net in task.model.items():
        assert not torch.equal(net[0].weight, before[name]["0.weight"])
    assert set(run.parts) == {"real", "fake", "generator"}
    state = run.optimizers["discriminator"].state_dict()["state"]
    assert len(state) == 4  # momentum of each parameter: both turns of the discriminator share it


def test_what_falls_can_decide_and_every_measure_has_its_curve():
    run = TrainingRun(ToyGAN(), GAN, seed=0)
    run.advance(8, measure=True)
    assert [step for step, _ in run.curve] == [4, 8]
    assert run.curve == run.measured["distance"]
    assert len(run.measured["x"]) == 2


def test_two_nets_resume_to_the_bit(tmp_path):
    straight, broken, resumed = (TrainingRun(ToyGAN(seed), GAN, seed=0) for seed in (0, 0, 9))
    straight.advance(8, measure=True)
    broken.advance(3, measure=True)
    save_checkpoint(broken, tmp_path / "run.pt")
    load_checkpoint(resumed, tmp_path / "run.pt")
    resumed.advance(8, measure=True)
    assert resumed.losses == straight.losses
    assert resumed.measured == straight.measured
    assert torch.equal(weights(resumed.task.model), weights(straight.task.model))


def test_logical_workers_are_averaged_and_the_first_ones_moments_are_kept():
    data, recipe = load_data("digits"), TrainingRecipe(steps=3, workers=2, learning_rate=0.05)
    run, twin = small_run(data, recipe), small_net(0).train()
    twin.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(
        [
            {"params": [p for n, p in twin.named_parameters() if not n.startswith("1.")], "weight_decay": 1e-4},
            {"params": [p for n, p in twin.named_parameters() if n.startswith("1.")]},
        ],
        lr=0.05,
        momentum=0.9,
        nesterov=True,
    )
    for step in range(3):
        gradients, moments = [], None
        for worker in range(2):
            pictures, labels = run.task.batch(step, worker, 0)
            optimizer.zero_grad()
            F.cross_entropy(twin(pictures), labels).backward()
            gradients.append([p.grad.clone() for p in twin.parameters()])
            moments = moments or {name: buffer.clone() for name, buffer in twin.named_buffers()}
        for parameter, first, second in zip(twin.parameters(), *gradients, strict=True):
            parameter.grad = (first + second) / 2
        optimizer.step()
        for name, buffer in twin.named_buffers():
            buffer.copy_(moments[name])
    run.advance(3)
    for (name, ours), theirs in zip(run.task.model.state_dict().items(), twin.state_dict().values(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6, msg=name)


def test_workers_of_a_step_see_different_pictures_and_one_worker_sees_what_it_always_saw():
    data = load_data("digits")
    one, two = (small_run(data, TrainingRecipe(workers=workers)).task for workers in (1, 2))
    first, second = two.batch(3, 0, 0), two.batch(3, 1, 0)
    assert not torch.equal(first[0], second[0])
    assert torch.equal(first[0], one.batch(6, 0, 0)[0])
    assert torch.equal(second[0], one.batch(7, 0, 0)[0])


def test_what_is_random_inside_a_model_belongs_to_the_step_and_not_to_the_way_there():
    """A run that begins at step 4 draws what a run draws at step 4 that went all the way."""
    data = load_data("digits")
    whole, late = small_run(data, dropout=0.5), small_run(data, dropout=0.5)
    whole.advance(4)
    late.task.model.load_state_dict(whole.task.model.state_dict())
    late.step = 4
    whole.advance(5)
    late.advance(5)
    assert late.losses[-1] == whole.losses[-1]
