"""What two ranks do together in `test_ranks.py`: each case leaves what it found in a file for every rank."""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

import evonorm
from evonorm.data import CropBatches, load_data, whole_batches
from evonorm.foundation import seed_from
from evonorm.training import (
    AverageRecipe,
    Checkpoint,
    Classification,
    TrainingRecipe,
    TrainingRun,
    rank,
    ranks,
)
from evonorm.training.ranks import check_agreement, my_workers

STEPS = 4
AVERAGE = AverageRecipe(decay=0.9)


def net():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2),
            evonorm.create_layer("evonorm-b0", 8),
            nn.Dropout(0.3),
            nn.Conv2d(8, 16, 3, stride=2),
            evonorm.create_layer("bn-relu", 16),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
            nn.Linear(64, 10),
        )


def recipe(workers, **changes):
    return TrainingRecipe(steps=STEPS, workers=workers, learning_rate=0.05, average=AVERAGE, **changes)


def held_out(data):
    """This rank's share of 101 pictures, nothing padded."""
    batches = list(whole_batches(data.validation, 101, data.mean, data.std))[:1]
    return [(pictures[rank() :: ranks()], labels[rank() :: ranks()]) for pictures, labels in batches]


def new_run(chosen, spoil=None):
    data = load_data("digits")
    batches = CropBatches(data.training, 16, 24, data.mean, data.std, 0, chosen.workers)
    task = Classification(
        net(), batches, held_out=partial(held_out, data), prepare=spoil or (lambda pictures: pictures)
    )
    return TrainingRun(task, chosen, seed=7)


def found(run):
    return {
        "weights": run.task.model.state_dict(),
        "average": run.average.average,
        "losses": run.losses,
        "measured": run.measured,
        "step": run.step,
    }


def trained(workers, **changes):
    run = new_run(recipe(workers, **changes))
    run.advance(STEPS, measure=True)
    return found(run)


def trained_by_ddp():
    """torch's own DistributedDataParallel, one worker a rank, its buffers those of rank 0."""
    data, model = load_data("digits"), net().to(memory_format=torch.channels_last).train()
    batches = CropBatches(data.training, 16, 24, data.mean, data.std, 0, 2)
    together = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)
    for step in range(STEPS):
        pictures, labels = batches.batch(step, rank())
        torch.default_generator.manual_seed(seed_from(7, step, rank(), 0))
        optimizer.zero_grad()
        F.cross_entropy(together(pictures), labels).backward()
        optimizer.step()
    return {"weights": model.state_dict()}


def went_on(checkpoint):
    """From where one rank had stored its first two steps."""
    run = new_run(recipe(2))
    Checkpoint(checkpoint).take_up(run)
    assert run.step == 2
    run.advance(STEPS, measure=True)
    return found(run)


def stored(checkpoint):
    """Two steps on two ranks, for one rank to go on from; the first rank alone writes."""
    run, place = new_run(recipe(2)), Checkpoint(checkpoint)
    place.SECONDS = 0.0
    run.advance(2, on_step=place.after_step)
    return found(run)


def ended_by_one_rank():
    """The second worker's third step is not a number; both ranks must end, with the weights of step two."""
    calls = []

    def spoil(pictures):
        calls.append(1)
        return pictures * (math.nan if rank() == ranks() - 1 and len(calls) == 3 else 1)

    run = new_run(recipe(2), spoil)
    ending = run.advance(STEPS)
    return {"ending": ending, **found(run)}


def refusals():
    """What cannot be shared out, and ranks that differ."""
    said = []
    for refused in (lambda: my_workers(3), lambda: check_agreement("the step", rank())):
        try:
            refused()
        except ValueError as error:
            said.append(str(error))
    return {"said": said}


def cases(place):
    return {
        "two": partial(trained, 2),
        "four": partial(trained, 4),
        "averaged": partial(trained, 4, worker_moments="averaged"),
        "clipped": partial(trained, 2, clip=0.5),
        "ddp": trained_by_ddp,
        "went on": partial(went_on, place / "by-one.pt"),
        "stored": partial(stored, place / "by-two.pt"),
        "not finite": ended_by_one_rank,
        "refusals": refusals,
    }


def work(rank, place):
    """One rank: every case in turn."""
    for name, case in cases(place).items():
        torch.save(case(), place / f"{name} {rank}.pt")
