"""Many trainings at once on a terminal: a bar for all of them, and one for each that is at work."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from evonorm.journal import Failed
from evonorm.runner import Trained, Training
from evonorm.workers import Announced


class TrainingBars:
    """`watch` and `on_found` are for `train_all`. Without a terminal every finished training is a line."""

    def __init__(self, steps: int, console: Console) -> None:
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        self.console = console
        self.progress = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)
        self.all = self.progress.add_task("all, steps", total=steps)
        self.bars: dict[Training, TaskID] = {}
        self.done: dict[Training, int] = {}

    def watch(self, training: Training, stage: Announced) -> None:
        bar = self.bars.get(training)
        if bar is None:
            bar = self.bars[training] = self.progress.add_task(name_of(training), total=stage["steps"])
        text = f"{name_of(training)}: loss {stage['loss']:.3f}"
        self.progress.update(bar, completed=stage["step"], description=text)
        self._count(training, stage["step"])

    def on_found(self, training: Training, outcome: Trained | Failed) -> None:
        if training in self.bars:
            self.progress.remove_task(self.bars.pop(training))
        self._count(training, training.recipe.training.steps)
        text = f"{outcome.result:.4f}" if isinstance(outcome, Trained) else f"failed ({outcome.reason})"
        self.console.print(f"{name_of(training)}: {text}", markup=False, highlight=False, soft_wrap=True)

    def _count(self, training: Training, step: int) -> None:
        self.done[training] = step
        self.progress.update(self.all, completed=sum(self.done.values()))


def name_of(training: Training) -> str:
    """Who trains where, for a line."""
    model = getattr(training.recipe.settings, "model", training.recipe.task)
    return f"{training.layer} in {model}, seed {training.recipe.seed}"


@contextmanager
def training_bars(steps: int) -> Iterator[TrainingBars]:
    """Shown until the end of the block, for so many steps in all."""
    bars = TrainingBars(steps, Console(stderr=True))
    with bars.progress:
        yield bars
