"""The models of the study: where each comes from, what it is called with, and what it has, if that was counted by hand.

Random weights, small pictures: what is found does not depend on either.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

Built = tuple[nn.Module, Any]  # the model, and an example for it


@dataclass(frozen=True)
class Case:
    """One model.

    Attributes:
        counted: (with an activation behind, without), counted by hand from the sources.
        trained_with: what to train it with, if that is not the example.
    """

    library: str
    name: str
    build: Callable[[], Built]
    counted: tuple[int, int] | None = None
    trained_with: Callable[[], Any] | None = None


def pictures(size: int = 64, channels: int = 3) -> torch.Tensor:
    return torch.randn(2, channels, size, size, generator=torch.Generator().manual_seed(0))


def torchvision_model(name: str, size: int = 64, **settings: Any) -> Callable[[], Built]:
    def build() -> Built:
        import torchvision.models

        return torchvision.models.get_model(name, weights=None, **settings), pictures(size)

    return build


def frozen_pyramid() -> Built:
    from torchvision.models.detection.backbone_utils import resnet_fpn_backbone
    from torchvision.ops.misc import FrozenBatchNorm2d

    backbone = resnet_fpn_backbone(backbone_name="resnet50", weights=None, norm_layer=FrozenBatchNorm2d)
    return backbone, pictures()


def detector() -> Built:
    from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn

    model = fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, min_size=64, max_size=64)
    return model, (list(pictures()),)


def objects() -> Any:
    """What a detector is trained with."""
    target = {"boxes": torch.tensor([[8.0, 8.0, 40.0, 40.0]]), "labels": torch.tensor([1])}
    return list(pictures()), [target, target]


def video() -> Built:
    import torchvision.models.video

    return torchvision.models.video.r3d_18(weights=None), torch.randn(2, 3, 8, 32, 32)


def timm_model(name: str, size: int = 64, **settings: Any) -> Callable[[], Built]:
    def build() -> Built:
        import timm

        return timm.create_model(name, pretrained=False, **settings), pictures(size)

    return build


def hugging_face(model: str, config: str, size: int = 64, **settings: Any) -> Callable[[], Built]:
    def build() -> Built:
        import transformers

        made = getattr(transformers, model)(getattr(transformers, config)(**settings))
        return made, {"pixel_values": pictures(size)}

    return build


def speech() -> Built:
    import transformers

    config = transformers.Wav2Vec2Config(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, mask_time_prob=0.0
    )
    return transformers.Wav2Vec2Model(config), {"input_values": torch.randn(2, 4000)}


def segmentation(name: str, encoder: str = "resnet18", **settings: Any) -> Callable[[], Built]:
    def build() -> Built:
        import segmentation_models_pytorch

        made = getattr(segmentation_models_pytorch, name)
        return made(encoder_name=encoder, encoder_weights=None, **settings), pictures()

    return build


def _torchvision(name: str, counted: tuple[int, int] | None = None, size: int = 64, **settings: Any) -> Case:
    return Case("torchvision", name, torchvision_model(name, size, **settings), counted)


def _timm(name: str, counted: tuple[int, int] | None = None, size: int = 64) -> Case:
    return Case("timm", name, timm_model(name, size), counted)


def _hugging_face(
    name: str, model: str, config: str, counted: tuple[int, int] | None = None, size: int = 64, **settings: Any
) -> Case:
    return Case("transformers", name, hugging_face(model, config, size, **settings), counted)


def _segmentation(
    name: str, encoder: str = "resnet18", counted: tuple[int, int] | None = None, **settings: Any
) -> Case:
    title = f"{name} {encoder}"
    return Case("segmentation_models_pytorch", title, segmentation(name, encoder, **settings), counted)


SMALL = {"embedding_size": 8, "hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1]}

MODELS = (
    _torchvision("resnet50", (33, 20)),
    _torchvision("mobilenet_v2", (35, 17)),
    _torchvision("mobilenet_v3_large", (31, 15)),
    _torchvision("efficientnet_b0", (33, 16)),
    _torchvision("efficientnet_v2_s"),
    _torchvision("shufflenet_v2_x1_0", (37, 19)),
    _torchvision("mnasnet1_0", (35, 17)),
    _torchvision("regnet_y_400mf", (33, 20)),
    _torchvision("vgg11_bn", (8, 0)),
    _torchvision("densenet121", (121, 0)),
    _torchvision("googlenet", (57, 0), aux_logits=False, init_weights=False),
    _torchvision("inception_v3", (94, 0), size=96, aux_logits=False, init_weights=False),
    _torchvision("fcn_resnet50", weights_backbone=None),
    _torchvision("lraspp_mobilenet_v3_large", weights_backbone=None),
    _torchvision("convnext_tiny"),
    _torchvision("vit_b_16", image_size=64),
    Case("torchvision", "resnet50 FPN, FrozenBatchNorm2d", frozen_pyramid, (33, 20)),
    Case("torchvision", "fasterrcnn_mobilenet_v3_large_320_fpn", detector, trained_with=objects),
    Case("torchvision", "r3d_18", video),
    _timm("resnet50", (33, 20)),
    _timm("resnetv2_50", (49, 0)),
    _timm("efficientnet_b0", (33, 16)),
    _timm("mobilenetv2_100", (35, 17)),
    _timm("mobilenetv4_conv_small"),
    _timm("regnetz_b16", (46, 22)),
    _timm("hrnet_w18_small", (43, 48)),
    _timm("dla34", (21, 16)),
    _timm("repvgg_a0", (0, 61)),
    _timm("convnext_atto", (0, 17)),
    _timm("res2net50_26w_4s", (65, 20)),
    _timm("seresnext26d_32x4d", (19, 12)),
    _timm("rexnet_100"),
    _timm("xception41"),
    _timm("ghostnet_100"),
    _timm("dpn68"),
    _timm("cspresnet50"),
    _timm("inception_v4", size=96),
    _timm("resnest14d"),
    _timm("skresnet18"),
    _timm("nf_resnet50", (0, 0)),
    _timm("vovnet39a", (39, 0)),
    _timm("mixnet_s"),
    _timm("tf_efficientnetv2_b0"),
    _timm("edgenext_xx_small"),
    _timm("test_resnet"),
    _hugging_face("ResNet-50", "ResNetForImageClassification", "ResNetConfig", (33, 20)),
    _hugging_face("RegNet", "RegNetForImageClassification", "RegNetConfig", groups_width=8, **SMALL),
    _hugging_face("MobileNetV1", "MobileNetV1ForImageClassification", "MobileNetV1Config", (27, 0)),
    _hugging_face("MobileNetV2", "MobileNetV2ForImageClassification", "MobileNetV2Config"),
    _hugging_face(
        "EfficientNet",
        "EfficientNetForImageClassification",
        "EfficientNetConfig",
        hidden_dim=1280,
        width_coefficient=1.0,
    ),
    _hugging_face("ConvNextV2", "ConvNextV2ForImageClassification", "ConvNextV2Config", depths=[1, 1, 1, 1]),
    _hugging_face("LeViT", "LevitForImageClassification", "LevitConfig", size=224),
    _hugging_face("MobileViT", "MobileViTForImageClassification", "MobileViTConfig"),
    _hugging_face("BiT", "BitForImageClassification", "BitConfig", **SMALL, num_groups=4),
    _hugging_face("SegFormer", "SegformerForSemanticSegmentation", "SegformerConfig"),
    Case("transformers", "Wav2Vec2", speech),
    _segmentation("Unet", counted=(19, 11)),
    _segmentation("Unet", "resnet34"),
    _segmentation("UnetPlusPlus"),
    _segmentation("Linknet"),
    _segmentation("FPN"),
    _segmentation("PSPNet"),
    _segmentation("DeepLabV3Plus", "mobilenet_v2"),
)
