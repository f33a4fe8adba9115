"""Crops and scaling against TensorFlow's stored values, torchvision itself, and calculations of their own."""

import math

import numpy as np
import pytest
import torch

from evonorm.data import PictureSettings
from evonorm.data.photos.picture import evaluation_picture, training_picture
from evonorm.data.photos.scaling import antialiased, legacy
from evonorm.data.photos.windows import centre_window, tensorflow_window, torchvision_window
from tests.data.tensorflow_values import STORED_IMAGES, scaled_picture

COUNT = 20_000


def drawn(law, height, width, smallest_area=0.08, count=COUNT):
    """(n, 4) of the crops, without those that failed."""
    generator = torch.Generator().manual_seed(0)
    windows = (law(height, width, smallest_area, generator) for _ in range(count))
    return np.array([window for window in windows if window is not None], float)


@pytest.mark.parametrize("stored", STORED_IMAGES["crops"], ids=lambda stored: str(stored["photo"]))
def test_tensorflows_law_has_its_quantiles(stored):
    height, width = stored["photo"]
    windows = drawn(tensorflow_window, height, width)
    assert 1 - len(windows) / COUNT == pytest.approx(stored["failed"], abs=0.002)
    found = {
        "area": windows[:, 2] * windows[:, 3] / (height * width),
        "height": windows[:, 2] / height,
        "ratio": windows[:, 3] / windows[:, 2],
    }
    for name, values in found.items():
        wanted = stored["quantiles"][name]
        tolerance = 0.03 * (wanted[-1] - wanted[0])  # two samples of 20,000: about 0.6 % of the range at a quartile
        np.testing.assert_allclose(np.quantile(values, STORED_IMAGES["probabilities"]), wanted, atol=tolerance)
    assert found["area"].mean() == pytest.approx(stored["mean_area"], abs=0.006)
    assert found["area"].min() >= 0.1  # not 0.08: TensorFlow's crop must cover a tenth of its object, the photo


@pytest.mark.parametrize(  # of 40,000 draws of torchvision 0.29.2
    ("photo", "mean", "quantiles"),
    [((375, 500), 0.434, (0.148, 0.423, 0.737)), ((500, 500), 0.479, (0.160, 0.476, 0.795))],
)
def test_torchvisions_law_has_the_areas_that_were_measured_on_it(photo, mean, quantiles):
    windows = drawn(torchvision_window, *photo)
    areas = windows[:, 2] * windows[:, 3] / (photo[0] * photo[1])
    assert areas.mean() == pytest.approx(mean, abs=0.006)
    np.testing.assert_allclose(np.quantile(areas, (0.1, 0.5, 0.9)), quantiles, atol=0.012)
    ratios = np.log(windows[:, 3] / windows[:, 2])
    assert abs(ratios.min()) == pytest.approx(math.log(4 / 3), abs=0.01)


def test_torchvisions_law_is_torchvisions():
    transforms = pytest.importorskip("torchvision.transforms.v2")
    crop = transforms.RandomResizedCrop(8)
    theirs = []
    for _ in range(4000):
        made = crop.make_params([torch.empty(3, 300, 410)])
        theirs.append([made["top"], made["left"], made["height"], made["width"]])
    ours = drawn(torchvision_window, 300, 410, count=4000)
    for column in range(4):
        np.testing.assert_allclose(
            np.quantile(ours[:, column], (0.1, 0.3, 0.5, 0.7, 0.9)),
            np.quantile(np.array(theirs, float)[:, column], (0.1, 0.3, 0.5, 0.7, 0.9)),
            atol=16,
        )


@pytest.mark.parametrize("law", [tensorflow_window, torchvision_window])
@pytest.mark.parametrize("photo", [(1, 1), (1, 40), (40, 1), (2, 3), (37, 500), (500, 11)])
def test_a_crop_lies_in_its_photo(law, photo):
    height, width = photo
    windows = drawn(law, *photo, count=200)
    if len(windows):
        assert (windows[:, :2] >= 0).all()
        assert (windows[:, 0] + windows[:, 2] <= height).all()
        assert (windows[:, 1] + windows[:, 3] <= width).all()
        assert (windows[:, 2:] >= 1).all()


@pytest.mark.parametrize("stored", STORED_IMAGES["centres"], ids=lambda stored: str(stored["photo"]))
def test_the_evaluation_crop_is_the_official_one(stored):
    assert list(centre_window(*stored["photo"], stored["size"], stored["centre"])) == stored["window"]


@pytest.mark.parametrize("stored", STORED_IMAGES["scaled"], ids=lambda s: f"{s['interpolation']}-{s['size']}")
def test_legacy_scaling_is_tensorflows(stored):
    size = stored["size"]
    wanted = torch.tensor(stored["values"]).view(size, size, 3).permute(2, 0, 1)
    found = legacy(scaled_picture(), size, stored["interpolation"])
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-3)
    assert (wanted - antialiased(scaled_picture(), size, stored["interpolation"])).abs().mean() > (size != 17)


def test_the_settings_reach_the_pictures():
    """Against the stored whole-picture scaling: a centre of 1 on a square part shows it all."""
    square = scaled_picture()[:, :, :17]
    settings = PictureSettings(size=17, images="tf", centre=1.0)
    assert torch.equal(evaluation_picture(square, settings), square)
    plain = evaluation_picture(square, PictureSettings(size=12, centre=1.0))
    assert torch.equal(plain, antialiased(square, 12, "bicubic"))
    assert not torch.equal(plain, evaluation_picture(square, PictureSettings(size=12, centre=0.8)))
    assert not torch.equal(
        plain, evaluation_picture(square, PictureSettings(size=12, centre=1, interpolation="bilinear"))
    )
    tensorflow = evaluation_picture(square, PictureSettings(size=12, centre=1.0, images="tf"))
    assert torch.equal(tensorflow, legacy(square, 12, "bicubic").round().clamp(0, 255).to(torch.uint8))


def test_half_of_the_pictures_are_flipped():
    photo = torch.arange(64, dtype=torch.uint8).expand(3, 64, 64)  # rises to the right
    flipped = {True: 0, False: 0}
    for flip in flipped:
        for seed in range(400):
            settings = PictureSettings(size=16, flip=flip)
            picture = training_picture(photo, settings, torch.Generator().manual_seed(seed))
            flipped[flip] += int(picture[0, 0, 0] > picture[0, 0, -1])
    assert flipped[False] == 0
    assert 150 < flipped[True] < 250


def test_the_official_code_cuts_fractions_off_where_it_augments():
    """A photo too small to be cut is scaled whole: only the rounding tells the two apart."""
    photo, size = torch.full((3, 1, 1), 77, dtype=torch.uint8), 4
    assert (training_picture(photo, PictureSettings(size, images="tf"), torch.Generator()) == 77).all()
    square = scaled_picture()[:, :16, :16]
    floats = legacy(square, 12, "bicubic").clamp(0, 255)
    settings = PictureSettings(12, images="tf", augmentation="autoaugment", flip=False, smallest_area=1.0, centre=1.0)
    seen = [training_picture(square, settings, torch.Generator().manual_seed(seed)) for seed in range(200)]
    assert any(torch.equal(picture, floats.to(torch.uint8)) for picture in seen)  # where no operation was applied
    assert not any(torch.equal(picture, floats.round().to(torch.uint8)) for picture in seen)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"size": 0}, "size must be at least 1"),
        ({"layers": 0}, "layers must be at least 1"),
        ({"images": "tensorflow"}, "there is no images 'tensorflow'.*Known: torchvision, tf"),
        ({"augmentation": "randaug"}, "Did you mean 'randaugment'"),
        ({"interpolation": "nearest"}, "Known: bicubic, bilinear"),
        ({"unreadable": "ignore"}, "Known: raise, skip"),
        ({"magnitude": -1}, "must not be negative"),
        ({"centre": 0}, "centre is a share"),
        ({"smallest_area": 1.5}, "smallest_area is a share"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        PictureSettings(**wrong)
