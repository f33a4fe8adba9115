"""What a person sees of a training: a bar with a live line, or without a terminal a line a minute and each measure."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from evonorm.runner import TaskRecipe
from evonorm.training import TrainingRun, rank

RECENT = 20  # steps that a shown loss is averaged over
LINE_EVERY = 60.0  # seconds, where there is no terminal
OnStep = Callable[[TrainingRun], None]


@contextmanager
def shown(who: str, recipe: TaskRecipe) -> Iterator[OnStep]:
    """Gives what is to be called after every step; other ranks than the first show nothing."""
    console = Console(stderr=True)
    if rank() > 0:
        yield lambda _: None
    elif console.is_terminal:
        with _bar(who, recipe, console) as on_step:
            yield on_step
    else:
        yield _lines(who, recipe, console)


@contextmanager
def _bar(who: str, recipe: TaskRecipe, console: Console) -> Iterator[OnStep]:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task(who, total=recipe.training.steps)

        def on_step(run: TrainingRun) -> None:
            progress.update(bar, description=f"{who}: {_line(run, recipe)}", completed=run.step)

        yield on_step


def _lines(who: str, recipe: TaskRecipe, console: Console) -> OnStep:
    began: list[tuple[float, int]] = []  # when and at which step this process took it up
    told = time.monotonic()

    def on_step(run: TrainingRun) -> None:
        nonlocal told
        now = time.monotonic()
        if not began:
            began.append((now, run.step - 1))
        measured = run.curve and run.curve[-1][0] == run.step
        if measured or now >= told + LINE_EVERY:
            told = now
            left = (now - began[0][0]) / (run.step - began[0][1]) * (recipe.training.steps - run.step)
            text = f"{who}: step {run.step} of {recipe.training.steps}, {_line(run, recipe)}, {_duration(left)} left"
            console.print(text, markup=False, highlight=False, soft_wrap=True)

    return on_step


def _line(run: TrainingRun, recipe: TaskRecipe) -> str:
    """Epoch, loss, the latest measures, images a second, and the share of the time that went into waiting for data."""
    recent = run.losses[-RECENT:]
    parts = [f"loss {sum(recent) / len(recent):.3f}"]
    if recipe.training.steps_per_epoch != 1:
        parts.insert(0, f"epoch {run.step / recipe.training.steps_per_epoch:.2f}")
    parts += [f"{name} {curve[-1][1]:.4g}" for name, curve in run.measured.items()]
    if recipe.images_a_step and run.seconds:
        parts.append(f"{run.step * recipe.images_a_step / run.seconds:.4g} images/s")
        parts.append(f"data wait {100 * run.waited / run.seconds:.0f} %")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min" if minutes else f"{seconds:.0f} s"
