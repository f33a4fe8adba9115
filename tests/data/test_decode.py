"""Odd files, as ImageNet has them, each written with Pillow."""

import numpy as np
import pytest
import torch

from evonorm.data import UnreadablePhotoError, open_photo_folder
from evonorm.data.photos.decode import read_photo
from tests.data.photo_files import real_folder, write_photo

Image = pytest.importorskip("PIL.Image")


def by_pillow(path):
    with Image.open(path) as photo:
        return torch.from_numpy(np.array(photo.convert("RGB"))).permute(2, 0, 1)


@pytest.mark.parametrize(
    ("name", "mode", "form"),
    [
        ("rgb.JPEG", "RGB", "JPEG"),
        ("grey.JPEG", "L", "JPEG"),
        ("cmyk.JPEG", "CMYK", "JPEG"),
        ("png.JPEG", "RGB", "PNG"),
        ("grey.png", "L", "PNG"),
        ("transparent.png", "RGBA", "PNG"),
        ("palette.png", "P", "PNG"),
    ],
)
def test_all_kinds_of_files_become_rgb(tmp_path, name, mode, form):
    path = tmp_path / name
    write_photo(path, mode=mode, form=form)
    photo = read_photo(path)
    assert photo.dtype == torch.uint8
    assert photo.shape == (3, 24, 32)
    assert (photo.int() - by_pillow(path).int()).abs().max() <= 1


def test_sixteen_bits_keep_the_upper_eight(tmp_path):
    Image.fromarray(np.arange(64, dtype=np.uint16).reshape(8, 8) * 1000).save(tmp_path / "deep.png")
    assert torch.equal(read_photo(tmp_path / "deep.png")[0].flatten().long(), torch.arange(64) * 1000 // 256)


@pytest.mark.parametrize("keep", [0, 20, 0.5, 0.97])
def test_a_broken_file_is_named_with_the_cure(tmp_path, keep):
    path = tmp_path / "broken.JPEG"
    write_photo(path, height=240, width=320)
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if keep < 1 else keep])
    with pytest.raises(UnreadablePhotoError, match=r'broken.JPEG cannot be read .* unreadable = "skip"'):
        read_photo(path)


def test_a_lost_file_is_named(tmp_path):
    with pytest.raises(UnreadablePhotoError, match=r"lost.JPEG cannot be read as a photo \(.*No such file"):
        read_photo(tmp_path / "lost.JPEG")


def test_real_grey_photos_become_rgb(tmp_path, monkeypatch):
    monkeypatch.setenv("EVONORM_DATA", str(tmp_path))
    photos = open_photo_folder(real_folder("tiny_imagenet20")).validation
    grey = 0
    for index in range(len(photos)):
        with Image.open(photos.path(index)) as photo:
            if photo.mode == "L":
                grey += 1
                assert torch.equal(*read_photo(photos.path(index))[:2])
    assert grey > 5
