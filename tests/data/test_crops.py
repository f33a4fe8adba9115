import pytest
import torch

from evonorm.data import CropBatches, Images, load_data, whole_batches
from evonorm.data.crops import random_crops

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.25, 0.3)


def images(count=20, size=32):
    pixels = torch.randint(256, (count, size, size, 3), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    return Images(pixels, torch.arange(count, dtype=torch.uint8), torch.arange(count))


@pytest.mark.parametrize("size", [32, 24, 1])
def test_a_crop_is_a_window_of_its_picture(size):
    every = images(6)
    rows = torch.tensor([5, 0, 5, 3])  # the last picture too: its windows end where the memory ends
    crops = random_crops(every.pixels, rows, size, torch.Generator().manual_seed(1))
    places = 33 - size
    for crop, row in zip(crops, rows, strict=True):
        windows = [
            every.pixels[row, top : top + size, left : left + size] for top in range(places) for left in range(places)
        ]
        assert any(torch.equal(crop, window) for window in windows)


def test_every_place_of_the_window_is_drawn():
    pixels = torch.arange(32 * 32).remainder(256).to(torch.uint8).reshape(1, 32, 32, 1).repeat(1, 1, 1, 3)
    crops = random_crops(pixels, torch.zeros(4000, dtype=torch.int64), 30, torch.Generator().manual_seed(0))
    corners, counts = crops[:, 0, 0, 0].unique(return_counts=True)
    assert sorted(corners.tolist()) == [0, 1, 2, 32, 33, 34, 64, 65, 66]
    assert counts.min() > 350  # 444 expected of each


def test_batches_depend_on_seed_and_step_only():
    every = images()
    batches = CropBatches(every, 8, 24, MEAN, STD, seed=3)
    forwards = [batches.batch(step) for step in range(6)]
    again = CropBatches(every, 8, 24, MEAN, STD, seed=3)
    for step in (5, 0, 3, 3, 1):
        pictures, labels = again.batch(step)
        assert torch.equal(pictures, forwards[step][0])
        assert torch.equal(labels, forwards[step][1])
    other = CropBatches(every, 8, 24, MEAN, STD, seed=4).batch(0)
    assert not torch.equal(other[1], forwards[0][1])
    assert pictures.is_contiguous(memory_format=torch.channels_last)


def test_an_epoch_shows_no_picture_twice_and_the_next_has_another_order():
    batches = CropBatches(images(20), 8, 24, MEAN, STD, seed=0)
    first = torch.cat([batches.batch(step)[1] for step in (0, 1)])
    second = torch.cat([batches.batch(step)[1] for step in (2, 3)])
    assert len(first.unique()) == len(second.unique()) == 16
    assert not torch.equal(first, second)


def test_only_the_named_rows_are_drawn_and_labels_follow_their_pictures():
    every = images()
    part = Images(every.pixels, every.labels, torch.tensor([2, 3, 5, 7, 11, 13]))
    pictures, labels = CropBatches(part, 6, 32, MEAN, STD, seed=0).batch(0)
    assert sorted(labels.tolist()) == [2, 3, 5, 7, 11, 13]
    for picture, label in zip(pictures, labels, strict=True):
        wanted = (every.pixels[label].permute(2, 0, 1) / 255 - torch.tensor(MEAN)[:, None, None]) / torch.tensor(STD)[
            :, None, None
        ]
        torch.testing.assert_close(picture, wanted, rtol=1e-5, atol=1e-5)


def test_whole_batches_give_every_picture_once_in_order():
    every = images(20)
    found = list(whole_batches(every, 8, MEAN, STD))
    assert [len(labels) for _, labels in found] == [8, 8, 4]
    assert torch.cat([labels for _, labels in found]).tolist() == list(range(20))
    channel = torch.tensor(MEAN)[:, None, None], torch.tensor(STD)[:, None, None]
    wanted = (every.pixels[19].permute(2, 0, 1) / 255 - channel[0]) / channel[1]
    torch.testing.assert_close(found[-1][0][-1], wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("batch_size", "crop", "message"), [(8, 33, "crop must lie in 1 to 32"), (21, 24, "batch_size must lie in 1 to 20")]
)
def test_impossible_batches_are_refused(batch_size, crop, message):
    with pytest.raises(ValueError, match=message):
        CropBatches(images(20), batch_size, crop, MEAN, STD, seed=0)


def test_the_stand_in_has_ten_classes_and_says_what_it_is():
    pytest.importorskip("sklearn")
    data = load_data("digits")
    assert "not CIFAR-10" in data.name
    assert [len(part) for part in (data.training, data.validation, data.test)] == [1200, 300, 297]
    assert len(data.training.labels[data.training.rows].unique()) == 10
    pictures = torch.cat([pictures for pictures, _ in whole_batches(data.training, 512, data.mean, data.std)])
    assert abs(float(pictures.mean())) < 0.05
    assert abs(float(pictures.std()) - 1) < 0.05


def test_a_misspelt_data_set_lists_the_known():
    with pytest.raises(ValueError, match=r"Did you mean 'cifar10'\? Known: cifar10, digits"):
        load_data("cifar100")
