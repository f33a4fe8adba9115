import hashlib

import numpy as np
import pytest
import torch

from evonorm.data import SourceError, cifar10
from tests.data.real_cifar10 import real_cifar10


def test_the_real_pictures_are_the_published_ones():
    data = real_cifar10()
    pixels, labels = data.training.pixels.numpy(), data.training.labels.numpy()

    def md5_of_binary_batch(first):
        batch = slice(first, first + 10_000)
        planes = pixels[batch].transpose(0, 3, 1, 2).reshape(10_000, -1)
        return hashlib.md5(np.concatenate([labels[batch, None], planes], axis=1).tobytes()).hexdigest()

    assert md5_of_binary_batch(0) == "5dd7e06a14cb22eb9f671a540d1b7c25"  # data_batch_1.bin of the public archive
    assert md5_of_binary_batch(50_000) == "803d5f7f4d78ea53de84dbe85f74fb6d"  # test_batch.bin
    assert np.bincount(labels[50_000:]).tolist() == [1000] * 10


def test_the_split_is_fixed_and_keeps_the_test_pictures_apart():
    data = real_cifar10()
    parts = [set(part.rows.tolist()) for part in (data.training, data.validation, data.test)]
    assert [len(part) for part in parts] == [45_000, 5_000, 10_000]
    assert set.union(*parts) == set(range(60_000))
    assert min(parts[2]) == 50_000
    assert data.validation.rows[:5].tolist() == [1, 11, 23, 39, 44]  # another split would not compare with old runs


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A cache for six pictures whose source can be changed: `small.content`, and counts the calls."""

    class Small:
        content = bytes(range(256)) * 72 + bytes([0, 1, 2, 3, 4, 5])
        calls = 0
        folder = tmp_path / "cache"

        def read(self, source, progress):
            self.calls += 1
            return self.content, "a source"

    small = Small()
    monkeypatch.setenv("EVONORM_DATA", str(small.folder))
    monkeypatch.setattr(cifar10, "PICTURES", 6)
    monkeypatch.setattr(cifar10, "BYTES", 6 * 3072)
    monkeypatch.setattr(cifar10, "TEST", 2)
    monkeypatch.setattr(cifar10, "VALIDATION", 1)
    monkeypatch.setattr(cifar10, "SHA256", hashlib.sha256(small.content).hexdigest())
    monkeypatch.setattr(cifar10, "read_cifar10", small.read)
    return small


def test_a_second_call_asks_no_source(small):
    assert cifar10.get_cifar10() == "a source"
    assert "already there" in cifar10.get_cifar10()
    assert small.calls == 1
    data = cifar10.load_cifar10()
    assert data.test.rows.tolist() == [4, 5]
    assert torch.equal(data.test.labels, torch.arange(6, dtype=torch.uint8))


@pytest.mark.parametrize("damage", [b"", b"short", "one byte"])
def test_a_damaged_file_is_found_out_and_fetched_again(small, damage):
    cifar10.get_cifar10()
    path = cifar10.cifar10_path()
    path.write_bytes(small.content[:-1] + b"\x09" if damage == "one byte" else damage)
    with pytest.raises(ValueError, match=r"damaged.*evonorm data cifar10"):
        cifar10.load_cifar10()
    cifar10.get_cifar10()
    assert small.calls == 2
    assert path.read_bytes() == small.content


def test_pictures_that_are_not_cifar10_are_not_kept(small):
    small.content = small.content[::-1]
    with pytest.raises(SourceError, match="are not CIFAR-10"):
        cifar10.get_cifar10()
    assert not small.folder.exists()


def test_an_interruption_while_writing_leaves_nothing_half(small, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cifar10.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cifar10.get_cifar10()
    assert list(small.folder.iterdir()) == []


def test_without_the_file_the_message_says_what_to_do(small):
    with pytest.raises(ValueError, match="evonorm data cifar10"):
        cifar10.load_cifar10()
