"""timm, torchvision, Hugging Face and segmentation_models_pytorch: their models, arguments and checkpoints."""

import copy
import json
import warnings

import pytest
import torch
from torch import nn

import evonorm
from studies.convert.models import MODELS
from studies.convert.study import Result as StudyResult
from studies.convert.study import counts, work

timm = pytest.importorskip("timm", reason="timm is in the dev extra")
torchvision = pytest.importorskip("torchvision", reason="torchvision is in the dev extra")


def picture(size=64):
    return torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(0))


def layers(model):
    return [each for each in model.modules() if isinstance(each, evonorm.NormAct)]


class TestTimm:
    @pytest.mark.parametrize("name", ["test_efficientnet", "resnetv2_18"])
    def test_as_norm_layer_of_fused_models(self, name):
        plain = timm.create_model(name)
        model = timm.create_model(name, norm_layer=evonorm.timm_norm_act("evonorm-s0"))
        theirs = [each for each in plain.modules() if isinstance(each, nn.BatchNorm2d)]
        with_act = [not isinstance(each.act, nn.Identity) for each in theirs]
        assert [each.nonlinearity for each in layers(model)] == with_act
        assert model(picture()).isfinite().all()
        rows = evonorm.positions(model, picture())
        assert not [row for row in rows if "doubled" in row.why]

    def test_by_name_after_registration_and_timms_own_stay(self):
        from timm.layers import create_norm_act

        before = dict(create_norm_act._NORM_ACT_MAP)
        try:
            names = evonorm.register_in_timm()
            assert {"evonorm.s0", "evonorm.b0", "bn.relu"} <= set(names)
            assert {key: create_norm_act._NORM_ACT_MAP[key] for key in before} == before
            layer = timm.layers.create_norm_act_layer("evonorm.b0", 16, act_layer="relu", apply_act=False, inplace=True)
            assert isinstance(layer, evonorm.EvoNormB0)
            assert not layer.nonlinearity
            model = timm.create_model("test_efficientnet", norm_layer="evonorm.s0")
            assert len(layers(model)) > 5
        finally:
            create_norm_act._NORM_ACT_MAP.clear()
            create_norm_act._NORM_ACT_MAP.update(before)

    def test_dropout_inside_is_told(self):
        with pytest.raises(ValueError, match="no dropout inside"):
            evonorm.timm_norm_act("evonorm-s0")(8, drop_layer=nn.Dropout)

    @pytest.mark.parametrize("name", ["b1", "b2", "s0", "s1", "s2"])
    def test_checkpoints_of_its_evonorms_load(self, name):
        theirs = getattr(timm.layers.evo_norm, f"EvoNorm2d{name.upper()}")(32)
        with torch.no_grad():
            for parameter in theirs.parameters():
                parameter.normal_(1.0, 0.3)
        ours = evonorm.create_layer(f"evonorm-{name}", 32)
        ours.load_state_dict(theirs.state_dict())
        x = torch.randn(2, 32, 5, 5)
        torch.testing.assert_close(ours.eval()(x), theirs.eval()(x), rtol=1e-4, atol=1e-5)

    def test_its_b0_has_another_eps_which_is_told(self):
        state = timm.layers.evo_norm.EvoNorm2dB0(8).state_dict()
        with pytest.warns(UserWarning, match="timm's, whose evonorm-b0 has eps=0.001; this layer has 1e-05"):
            evonorm.EvoNormB0(8).load_state_dict(state)
        evonorm.EvoNormB0(8, eps=1e-3).load_state_dict(state)

    def test_its_evonorms_become_ours_with_weights_eps_and_groups(self):
        evo_norm = timm.layers.evo_norm
        model = nn.Sequential(
            *(nn.Conv2d(3, 32, 1), evo_norm.EvoNorm2dS0(32, groups=4), nn.Conv2d(32, 8, 1), evo_norm.EvoNorm2dS0(8, 8)),
            *(nn.Conv2d(8, 8, 1), evo_norm.EvoNorm2dS0(8, 8, apply_act=False)),
        )
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(1.0, 0.3)
        expected = model.eval()(picture(8))
        evonorm.convert(model, "evonorm-s0", picture(8))
        assert [each.nonlinearity for each in layers(model)] == [True, True, False]
        torch.testing.assert_close(model(picture(8)), expected, rtol=1e-4, atol=1e-5)

    def test_fused_layers_are_converted_whole(self):
        act = timm.layers.BatchNormAct2d
        model = nn.Sequential(nn.Conv2d(3, 8, 1), act(8), nn.Conv2d(8, 8, 1), act(8, apply_act=False), nn.ReLU())
        model.append(act(8, act_layer=nn.Sigmoid))
        rows = evonorm.positions(model, picture(8))
        assert [(row.activation, row.action) for row in rows] == [
            ("relu", "layer"),
            ("relu", "layer"),
            ("", "leave alone"),
        ]
        assert [row.where for row in rows][:2] == ["inside the normalization", "module 4"]
        assert "Sigmoid, is none of those that count" in rows[2].why


class TestTorchvision:
    @pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2"])
    def test_norm_layer_cannot_be_missed(self, name):
        with pytest.warns(UserWarning, match=r"has activations of its own.*call evonorm\.convert"):
            model = getattr(torchvision.models, name)(norm_layer=evonorm.EvoNormS0)
        rows = evonorm.positions(model, picture(32))
        assert sum("doubled: it has its own activation, and relu" in row.why for row in rows) in (9, 35)

    def test_a_block_of_ones_own_is_not_warned_of(self):
        class Block(torchvision.models.resnet.BasicBlock):
            def __init__(self, *arguments, **settings):
                super().__init__(*arguments, **settings)
                self.bn1 = evonorm.EvoNormS0(self.conv1.out_channels)

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torchvision.models.resnet.ResNet(Block, [1, 1, 1, 1])

    def test_feature_extraction_takes_a_converted_model(self):
        from torchvision.models.feature_extraction import create_feature_extractor

        model = evonorm.convert(torchvision.models.resnet18(), "evonorm-s0", picture(32)).eval()
        extractor = create_feature_extractor(model, {"layer1": "low", "layer4": "high"})
        found = extractor(picture(32))
        torch.testing.assert_close(found["low"], model.layer1(model.maxpool(model.bn1(model.conv1(picture(32))))))

    def test_a_resnet_as_bn_relu_says_what_it_said(self):
        torch.manual_seed(0)
        model = torchvision.models.resnet18()
        model.train()(picture(32))
        twin = copy.deepcopy(model)
        evonorm.convert(model, "bn-relu")
        assert model.state_dict().keys() == twin.state_dict().keys()
        for training in (True, False):
            assert torch.equal(model.train(training)(picture(32)), twin.train(training)(picture(32)))


class TestHuggingFace:
    def made(self):
        transformers = pytest.importorskip("transformers", reason="transformers is in the dev extra")
        config = transformers.ResNetConfig(
            embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=3
        )
        return transformers.ResNetForImageClassification(config)

    def test_converts_and_comes_back_from_disk(self, tmp_path):
        example = {"pixel_values": picture(32)}
        model = evonorm.convert(self.made(), "evonorm-s0", example).eval()
        model.save_pretrained(tmp_path)
        kept = json.loads((tmp_path / "config.json").read_text())["evonorm"]
        assert kept["layer"] == "evonorm-s0"
        assert len(kept["positions"]) == len(model.evonorm_positions)
        other = evonorm.convert(type(model)(type(model.config).from_pretrained(tmp_path)), kept["layer"], example)
        from safetensors.torch import load_file

        other.load_state_dict(load_file(tmp_path / "model.safetensors"))
        torch.testing.assert_close(other.eval()(**example).logits, model(**example).logits)


def test_a_batchnorms_checkpoint_is_not_taken_without_a_word():
    """With strict=False gamma and beta would fit, and be the worst start of all."""
    state = nn.BatchNorm2d(8).state_dict()
    with pytest.warns(UserWarning, match="a BatchNorm's checkpoint: its gamma and beta mean something else"):
        evonorm.EvoNormS0(8).load_state_dict(state, strict=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evonorm.create_layer("bn-relu", 8).load_state_dict(state)
        evonorm.EvoNormS0(8).load_state_dict(evonorm.EvoNormS0(8).state_dict())


SOME = (
    *("mobilenet_v2", "shufflenet_v2_x1_0", "densenet121", "googlenet", "mnasnet1_0", "dla34", "hrnet_w18_small"),
    *("test_resnet", "cspresnet50", "MobileNetV2", "BiT", "Wav2Vec2", "Unet resnet18", "FPN resnet18", "convnext_atto"),
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", [each for each in MODELS if each.name in SOME], ids=lambda case: case.name)
def test_real_models(case):
    """A handful of the study's 63, done anew."""
    result = StudyResult(**work(case))
    assert case.counted in (None, counts(result))
    assert result.ended == ("nothing to convert" if case.name == "convnext_atto" else "converted")
    assert result.same in (None, 0.0)
    assert all(torch.isfinite(torch.tensor(loss)) for loss in result.losses)
    assert not result.losses or result.losses[-1] < result.losses[0]
