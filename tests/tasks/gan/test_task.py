"""The GAN as a task: what a turn does, latents, resume to the bit, logical workers, what is kept."""

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from evonorm.models import singular_values
from evonorm.tasks.gan.latents import draw_latents, one_of_each
from evonorm.tasks.gan.losses import frozen, hinge_losses, moments_at_rest, orthogonal_penalty
from evonorm.tasks.gan.sampling import load_generator, standing_latents, standing_statistics, store_generator
from evonorm.tasks.gan.scores import ScoreSettings
from evonorm.tasks.gan.sheet import sample_sheet, sheet_png
from evonorm.tasks.gan.task import GanSettings, GanTask, gan_identity
from evonorm.training import AverageRecipe, TrainingRecipe, TrainingRun, load_checkpoint, save_checkpoint
from tests.tasks.photo_folder import write_photos

pytest.importorskip("sklearn")
SMALL = GanSettings(
    "biggan-deep-cifar", 1 / 8, 2, "digits", images_per_worker=8, standing_batches=3, scores=ScoreSettings(4, 4)
)
ADAM = TrainingRecipe(
    steps=4,
    optimizer="adam",
    momentum=0.0,
    decay=0.999,
    epsilon=1e-8,
    learning_rate=2e-4,
    weight_decay=0.0,
    average=AverageRecipe(0.9),
)


def small_run(layer="evonorm-s0", recipe=ADAM, seed=0, settings=SMALL):
    return TrainingRun(GanTask(layer, settings, recipe, seed), recipe, seed)


def everything(run):
    tensors = [*run.task.model.state_dict().values(), *run.average.state()]
    for optimizer in run.optimizers.values():
        for state in optimizer.state_dict()["state"].values():
            tensors += [value for value in state.values() if torch.is_tensor(value)]
    return torch.cat([each.flatten().double() for each in tensors])


class TestTurns:
    def test_the_discriminator_moves_twice_then_the_generator_at_its_share_of_the_rate(self):
        run = small_run()
        assert [turn.name for turn in run.task.turns] == ["discriminator", "discriminator", "generator"]
        assert [turn.averaged for turn in run.task.turns] == [False, False, True]
        run.advance(1)
        steps = {name: int(each.state_dict()["state"][0]["step"]) for name, each in run.optimizers.items()}
        assert steps == {"discriminator": 2, "generator": 1}
        rates = {name: each.param_groups[0]["lr"] for name, each in run.optimizers.items()}
        assert rates == pytest.approx({"discriminator": 2e-4, "generator": 5e-5})
        assert {group["betas"] for each in run.optimizers.values() for group in each.param_groups} == {(0.0, 0.999)}
        assert set(run.parts) == {"real", "fake", "generator", "orthogonal"}

    def test_a_turn_moves_nothing_of_the_other_net(self):
        task = small_run("bn-relu").task
        counted = {name: value for name, value in task.model.state_dict().items() if "num_batches" not in name}
        before = copy.deepcopy(counted)
        sum(task.discriminator_losses(task.batch(0, 0, 0)).values()).backward()
        assert all(parameter.grad is None for parameter in task.generator.parameters())
        changed = {name for name, value in before.items() if not torch.equal(value, counted[name])}
        assert {name.partition(".")[0] for name in changed} == {"discriminator"}
        assert {name.rpartition(".")[2] for name in changed} == {"u"}
        task.discriminator.zero_grad()
        before = copy.deepcopy(counted)
        sum(task.generator_losses(task.batch(0, 0, 2)).values()).backward()
        assert all(parameter.grad is None for parameter in task.discriminator.parameters())
        assert all(parameter.requires_grad for parameter in task.discriminator.parameters())
        changed = {name for name, value in before.items() if not torch.equal(value, counted[name])}
        assert {name.partition(".")[0] for name in changed} == {"generator"}
        assert {name.rpartition(".")[2] for name in changed} == {"u", "running_mean", "running_var"}

    def test_losses_are_the_hinge_losses_of_separate_passes(self):
        task = small_run().task
        task.model.eval()
        (z, labels), (pictures, classes) = task.batch(5, 0, 1)
        found = task.discriminator_losses(((z, labels), (pictures, classes)))
        on_real, on_fake = task.discriminator(pictures, classes), task.discriminator(task.generator(z, labels), labels)
        real = np.maximum(0, 1 - on_real.detach().double().numpy()).mean()
        fake = np.maximum(0, 1 + on_fake.detach().double().numpy()).mean()
        assert found["real"].item() == pytest.approx(real, rel=1e-5)
        assert found["fake"].item() == pytest.approx(fake, rel=1e-5)
        mine = task.generator_losses(((z, labels), None))["generator"]
        assert mine.item() == pytest.approx(-on_fake.mean().item(), rel=1e-5)

    def test_real_pictures_are_whole_between_minus_one_and_one_and_flips_mirror_half_of_them(self):
        flipped, plain = (
            GanTask("evonorm-s0", GanSettings(**{**vars(SMALL), "flips": flips, "images_per_worker": 64}), ADAM, 0)
            for flips in (True, False)
        )
        mirrored = 0
        for turn in range(2):
            (one, labels), (other, same) = flipped.batch(3, 0, turn)[1], plain.batch(3, 0, turn)[1]
            assert torch.equal(labels, same)
            assert one.shape == (64, 3, 32, 32)
            assert float(one.min()) == -1
            assert float(one.max()) == pytest.approx(1, abs=1e-6)
            for a, b in zip(one, other, strict=True):
                assert torch.equal(a, b) or torch.equal(a, b.flip(2))
                mirrored += not torch.equal(a, b)
        assert 40 < mirrored < 88  # of 128

    def test_a_batch_is_a_function_of_step_worker_and_turn(self):
        task, twin = small_run().task, small_run().task
        (z, _), real = task.batch(7, 0, 1)
        assert torch.equal(twin.batch(7, 0, 1)[0][0], z)
        assert task.batch(7, 0, 2)[1] is None
        others = [twin.batch(*place) for place in ((8, 0, 1), (7, 1, 1), (7, 0, 0))]
        assert not any(torch.equal(z, other[0][0]) for other in others)
        assert not any(torch.equal(real[0], other[1][0]) for other in others if other[1] is not None)


class TestResume:
    @pytest.mark.parametrize("layer", ["bn-relu", "evonorm-s0"])
    def test_both_nets_both_optimizers_the_average_and_the_vectors(self, tmp_path, layer):
        straight, broken, resumed = small_run(layer), small_run(layer), small_run(layer, seed=0)
        straight.advance(4)
        broken.advance(2)
        save_checkpoint(broken, tmp_path / "run.pt")
        resumed.task.model.load_state_dict(small_run(layer, seed=9).task.model.state_dict())  # all of it must be loaded
        load_checkpoint(resumed, tmp_path / "run.pt")
        resumed.advance(4)
        assert resumed.losses == straight.losses
        assert torch.equal(everything(resumed), everything(straight))

    def test_logical_workers_are_averaged_with_the_same_weights_in_each(self):
        recipe = TrainingRecipe(**{**vars(ADAM), "workers": 2})
        run = small_run("evonorm-b0", recipe)
        twin = small_run("evonorm-b0", recipe).task
        turn, total = twin.turns[0], {}
        for worker in range(2):
            fresh = copy.deepcopy(twin)  # as a device of its own would begin: the same vectors, no gradients
            loss = sum(fresh.discriminator_losses(fresh.batch(0, worker, 0)).values())
            loss.backward()
            for name, parameter in fresh.discriminator.named_parameters():
                total[name] = total.get(name, 0) + parameter.grad / 2
        assert turn.name == "discriminator"
        run.losses.append(0.0)
        run._take_turn(0, run.task.turns[0])
        for name, parameter in run.task.discriminator.named_parameters():
            torch.testing.assert_close(parameter.grad, total[name], rtol=1e-5, atol=1e-7, msg=name)

    def test_other_moments_than_the_first_workers_are_told(self):
        with pytest.raises(ValueError, match='worker_moments = "first"'):
            small_run(recipe=TrainingRecipe(**{**vars(ADAM), "worker_moments": "averaged"}))


class TestLatents:
    def test_truncation_is_a_normal_within_bounds(self):
        z, labels = draw_latents(400, 10, seed=1, truncation=0.5)
        assert float(z.abs().max()) <= 0.5
        assert stats.kstest(z.flatten().numpy(), stats.truncnorm(-0.5, 0.5).cdf).pvalue > 0.01
        whole, same = draw_latents(400, 10, seed=1)
        assert stats.kstest(whole.flatten().numpy(), stats.norm.cdf).pvalue > 0.01
        assert torch.equal(labels, same)
        assert set(labels.tolist()) == set(range(10))
        with pytest.raises(ValueError, match="truncation must be positive, got 0"):
            draw_latents(4, 10, seed=1, truncation=0)

    def test_a_sheet_has_every_class_with_the_same_vectors(self):
        z, labels = one_of_each(3, 4, seed=5)
        assert labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
        assert torch.equal(z[:3], z[9:])


class TestLosses:
    def test_the_penaltys_gradient_is_the_authors(self):
        task = small_run().task
        orthogonal_penalty(task.generator).backward()
        assert task.generator.embedding.weight.grad is None
        names = {"stem.weight", "blocks.1.conv2.weight", "blocks.0.layer1.gain.weight", "last_conv.weight"}
        with torch.no_grad():
            for parameter in task.generator.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
        task.generator.zero_grad()
        found = orthogonal_penalty(task.generator)
        found.backward()
        total = 0.0
        for name, parameter in task.generator.named_parameters():
            if parameter.ndim < 2 or name == "embedding.weight":
                continue
            w = parameter.detach().double().flatten(1)
            product = w @ w.T
            product.fill_diagonal_(0)
            total += 0.5 * float(product.square().sum())
            if name in names:
                expected = (2 * product @ w).view(parameter.shape)
                torch.testing.assert_close(parameter.grad.double(), expected, rtol=1e-4, atol=1e-4, msg=name)
        assert found.item() == pytest.approx(total, rel=1e-4)

    def test_hinge(self):
        losses = hinge_losses(torch.tensor([2.0, 0.5]), torch.tensor([-3.0, 0.0]))
        assert (float(losses["real"]), float(losses["fake"])) == (0.25, 0.5)

    def test_contexts_put_back_what_they_changed(self):
        net = small_run("bn-relu").task.generator
        momenta = [module.momentum for module in net.modules() if hasattr(module, "momentum")]
        with pytest.raises(KeyError), moments_at_rest(net), frozen(net):
            raise KeyError
        assert momenta == [module.momentum for module in net.modules() if hasattr(module, "momentum")]
        assert all(parameter.requires_grad for parameter in net.parameters())


class TestSampling:
    def test_standing_statistics_are_the_plain_average_of_a_whole_generator(self):
        generator = small_run("bn-relu").task.generator
        latents = list(standing_latents(4, 8, 10, 3))
        means = []
        layer = generator.blocks[2].layer2.layer
        layer.register_forward_hook(lambda _, inputs, __: means.append(inputs[0].mean((0, 2, 3))))
        before = copy.deepcopy(generator.state_dict())
        with standing_statistics(generator, latents):
            torch.testing.assert_close(layer.running_mean, torch.stack(means).mean(0), rtol=1e-4, atol=1e-6)
            assert len(means) == 4
            assert not generator.training
        assert all(torch.equal(value, before[name]) for name, value in generator.state_dict().items())

    def test_a_layer_without_moving_moments_needs_none(self):
        generator = small_run("evonorm-s0").task.generator
        generator.stem.register_forward_hook(lambda *_: pytest.fail("computed"))
        with standing_statistics(generator, standing_latents(4, 8, 10, 3)):
            assert not generator.training

    @pytest.mark.parametrize("layer", ["bn-relu", "x * sigmoid(x) / rms_whcg(x)"])
    def test_a_stored_generator_gives_the_same_pictures(self, tmp_path, layer):
        image = pytest.importorskip("PIL.Image")
        task = small_run(layer).task
        path = tmp_path / "generator.pt"
        store_generator(task.generator, task.origin(3), path)
        loaded, origin = load_generator(path)
        latents = one_of_each(2, 3, seed=0)
        torch.testing.assert_close(loaded(*latents), task.generator.eval()(*latents), rtol=1e-4, atol=1e-5)
        assert (origin.layer, origin.step) == (layer, 3)
        assert "/" not in origin.name
        (tmp_path / "sheet.png").write_bytes(sample_sheet(path, truncation=0.5, columns=3, classes=4))
        with image.open(tmp_path / "sheet.png") as sheet:
            assert sheet.size == (3 * (64 + 2), 4 * (64 + 2))

    def test_a_sheet_shows_pictures_in_their_order(self):
        image = pytest.importorskip("PIL.Image")
        import io

        pictures = torch.stack([torch.full((3, 64, 64), 10 * n, dtype=torch.uint8) for n in range(5)])
        with image.open(io.BytesIO(sheet_png(pictures, columns=3))) as sheet:
            found = np.asarray(sheet)
        assert [int(found[5 + 66 * (n // 3), 5 + 66 * (n % 3), 0]) for n in range(5)] == [0, 10, 20, 30, 40]
        assert (found[70, 140] == 255).all()

    def test_a_file_that_is_no_generator_is_told(self, tmp_path):
        torch.save({"something": 1}, tmp_path / "x.pt")
        with pytest.raises(ValueError, match="holds no generator"):
            load_generator(tmp_path / "x.pt")


class TestMeasuring:
    def test_what_is_measured_and_kept(self, tmp_path, monkeypatch):
        settings = GanSettings(**{**vars(SMALL), "keep": str(tmp_path)})
        run = small_run("evonorm-b0", settings=settings)
        seen = []
        monkeypatch.setattr(run.task.scores, "measures", lambda pictures: seen.append(torch.cat(pictures)) or ())
        run.advance(1)
        health = {each.name: each.value for each in run.task.measure(1)}
        assert seen[0].shape == (4, 3, 32, 32)
        assert seen[0].dtype == torch.uint8
        assert set(health) == {
            "discriminator on real pictures",
            "discriminator on generated pictures",
            "largest singular value of the generator",
            "largest singular value of the discriminator",
        }
        assert all(math.isfinite(value) for value in health.values())
        largest = torch.linalg.matrix_norm(run.task.generator.stem.weight, 2)
        assert singular_values(run.task.generator)["stem"] == pytest.approx(largest.item(), rel=1e-2)
        assert [path.name for path in tmp_path.iterdir()] == ["biggan-deep-cifar-evonorm-b0-seed0.pt"]
        assert run.task.illustrations()["samples"].startswith(b"\x89PNG")
        before = copy.deepcopy(run.task.model.state_dict())
        run.task.measure(1)
        assert all(torch.equal(value, before[name]) for name, value in run.task.model.state_dict().items())

    @pytest.mark.parametrize("wrong", [{"images_per_worker": 0}, {"generator_rate": 0.0}, {"orthogonal": -1.0}])
    def test_impossible_settings(self, wrong):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            GanSettings(**wrong)


def test_a_gan_imitates_photos_of_a_folder(tmp_path):
    """Found again wherever the folder is; a step of it changes both nets."""
    pytest.importorskip("torchvision")
    (tmp_path / "elsewhere").symlink_to(write_photos(tmp_path / "photos"))
    here, there = (
        replace(SMALL, data=str(tmp_path / name), loaders=loaders)
        for name, loaders in (("photos", 0), ("elsewhere", 1))
    )
    assert gan_identity(here) == gan_identity(there)
    assert gan_identity(here)["data"] is None
    run = small_run(settings=here)
    before = [value.clone() for value in run.task.model.state_dict().values()]
    assert run.advance(1) == "reached"
    assert run.task.generator.embedding.num_embeddings == 3
    assert any(not torch.equal(a, b) for a, b in zip(run.task.model.state_dict().values(), before, strict=True))
