"""A small net and small real data for the tests of the training room."""

import torch
from torch import nn

from evonorm.data import CropBatches, DataSet, whole_batches
from evonorm.training import Classification, TrainingRecipe, TrainingRun

PAPER = TrainingRecipe()


def small_net(seed=0, dropout=0.0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Conv2d(8, 16, 3, stride=2),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
            nn.Linear(64, 10),
        )


def small_run(data: DataSet, recipe=PAPER, seed=0, dropout=0.0, net=None):
    batches = CropBatches(data.training, 32, 24, data.mean, data.std, seed, recipe.workers)
    task = Classification(
        net or small_net(seed, dropout),
        batches,
        {"1.weight", "1.bias"},
        lambda: whole_batches(data.validation, 128, data.mean, data.std),
    )
    return TrainingRun(task, recipe, seed)
