"""Two ranks against one process: logical workers decide the figures, ranks do not. And both against torch's own DDP."""

import pytest
import torch

from evonorm.fitness import number_of_threads
from evonorm.foundation import seed_from
from evonorm.training import Checkpoint, save_checkpoint
from tests.training import rank_cases
from tests.two_ranks import on_two_ranks

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def by_two(tmp_path_factory):
    """case -> what each of two ranks found."""
    place = tmp_path_factory.mktemp("ranks")
    with number_of_threads(1):
        early = rank_cases.new_run(rank_cases.recipe(2))
        early.advance(2)
    save_checkpoint(early, place / "by-one.pt")
    on_two_ranks(rank_cases.work, place)
    return place, lambda case: [torch.load(place / f"{case} {rank}.pt", weights_only=True) for rank in range(2)]


@pytest.fixture(autouse=True)
def one_thread():
    with number_of_threads(1):
        yield


def assert_same(ours, theirs, exact=True):
    tolerance = {"rtol": 0, "atol": 0} if exact else {"rtol": 1e-4, "atol": 1e-6}
    torch.testing.assert_close(ours["weights"], theirs["weights"], **tolerance)
    torch.testing.assert_close(ours["average"], theirs["average"], **tolerance)
    assert ours["measured"].keys() == theirs["measured"].keys()
    torch.testing.assert_close(ours["losses"], theirs["losses"], **tolerance)


def test_two_workers_on_two_ranks_are_two_workers_in_turn_to_the_bit(by_two):
    alone = rank_cases.trained(2)
    for together in by_two[1]("two"):
        assert_same(together, alone)
        assert together["measured"] == alone["measured"]


@pytest.mark.parametrize(("case", "workers", "changes"), [
    ("four", 4, {}), ("averaged", 4, {"worker_moments": "averaged"}), ("clipped", 2, {"clip": 0.5}),
])  # fmt: skip
def test_more_workers_than_ranks_and_other_settings_agree_to_rounding(by_two, case, workers, changes):
    alone = rank_cases.trained(workers, **changes)
    for together in by_two[1](case):
        assert_same(together, alone, exact=False)


def test_logical_workers_are_what_torchs_ddp_does(by_two):
    ours, theirs = by_two[1]("two")[0]["weights"], by_two[1]("ddp")[0]["weights"]
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_moments_averaged_after_every_step_are_those_of_separate_averages():
    """Each worker keeps moving moments of its own for two steps of a frozen net; their mean is what a run keeps."""
    chosen = rank_cases.recipe(2, worker_moments="averaged")
    run = rank_cases.new_run(chosen)
    for group in run.optimizers.values():
        group.step = lambda *_: None  # frozen weights: moments alone move
    twins = [rank_cases.net().to(memory_format=torch.channels_last).train() for _ in range(2)]
    with torch.no_grad():
        for step in range(2):
            for worker, twin in enumerate(twins):
                torch.default_generator.manual_seed(seed_from(7, step, worker, 0))
                twin(run.task.batch(step, worker, 0)[0])
    run.advance(2)
    kept = dict(run.task.model.named_buffers())
    for name, first in twins[0].named_buffers():
        if first.is_floating_point():
            second = dict(twins[1].named_buffers())[name]
            torch.testing.assert_close(kept[name], (first + second) / 2, rtol=1e-5, atol=1e-7)
            assert not torch.allclose(kept[name], first, rtol=1e-3)


def test_a_run_goes_on_on_another_number_of_ranks_to_the_bit(by_two):
    whole = rank_cases.trained(2)
    for together in by_two[1]("went on"):
        assert_same(together, whole)
    place, _ = by_two
    alone = rank_cases.new_run(rank_cases.recipe(2))
    Checkpoint(place / "by-two.pt").take_up(alone)
    assert alone.step == 2
    alone.advance(rank_cases.STEPS, measure=True)
    assert_same(rank_cases.found(alone), whole)


def test_a_loss_that_is_not_finite_on_one_rank_ends_all_with_sound_weights(by_two):
    for together in by_two[1]("not finite"):
        assert (together["ending"], together["step"]) == ("non_finite_loss", 2)
        assert all(value.isfinite().all() for value in together["weights"].values())
    first, second = by_two[1]("not finite")
    torch.testing.assert_close(first["weights"], second["weights"], rtol=0, atol=0)


def test_what_cannot_be_shared_out_is_refused_by_every_rank(by_two):
    for together in by_two[1]("refusals"):
        workers, step = together["said"]
        assert "3 logical workers cannot be shared out evenly to 2 ranks" in workers
        assert "ranks differ in the step: [0, 1]" in step
