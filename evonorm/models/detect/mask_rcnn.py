"""Mask R-CNN (He et al. 2017) from our backbone and heads and torchvision's boxes: matching, sampling, suppression.

Pictures come as squares whose sides are multiples of the coarsest stride, small ones with zeros at the right and the
bottom, as in the paper's code. torchvision's own models pad differently, and its region pooling then guesses wrong
strides from the first batch and keeps them; here the strides are told.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from evonorm.foundation import needs
from evonorm.models.convolution import check_images
from evonorm.models.detect.heads import (
    BOX_SIZE,
    MASK_SIZE,
    AnchorBoxes,
    BoxHead,
    BoxPredictor,
    MaskPredictor,
    ProposalHead,
    head_convs,
)
from evonorm.models.detect.losses import LOSSES, ProposalOutputs, RegionOutputs
from evonorm.models.detect.mask_targets import Target, region_masks, with_mask_crops
from evonorm.models.detect.settings import DetectorSettings, DetectorShape
from evonorm.models.hole import LayerHole

Detections = list[dict[str, Tensor]]


class MaskRCNN(nn.Module):
    """Objects in pictures: boxes, classes, scores and masks.

    In training `model(pictures, targets)` gives the losses by name, in evaluation `model(pictures)` a dict for each
    picture with `boxes` (n, 4), `labels` (n,), `scores` (n,) in falling order and `masks` (n, 1, 28, 28), each one's
    probability over its box. Pictures are (n, 3, height, width), or a list of pictures of one size, normalized. What is
    sampled in training comes from torch's global generator.

    Raises ValueError for sides that are not multiples of the coarsest stride, and for targets that are none.
    """

    rpn: Any  # torchvision has no types
    roi_heads: Any

    def __init__(
        self,
        backbone: nn.Module,
        shape: DetectorShape,
        layer: LayerHole,
        num_classes: int,
        settings: DetectorSettings,
    ) -> None:
        super().__init__()
        self.shape, self.settings = shape, settings
        self.backbone = backbone
        self.rpn = proposal_network(shape, layer, settings)
        self.roi_heads = region_heads(shape, layer, num_classes, settings)

    def forward(
        self, images: Tensor | Sequence[Tensor], targets: Sequence[Target] | None = None
    ) -> dict[str, Tensor] | Detections:
        pictures = images if isinstance(images, Tensor) else torch.stack(list(images))
        check_images(pictures, self.shape.stride)
        height, width = pictures.shape[2:]
        if height % self.shape.stride or width % self.shape.stride:
            raise ValueError(
                f"sides of pictures must be multiples of {self.shape.stride}, got {height}x{width}."
                " Put zeros at the right and the bottom."
            )
        if not self.training:
            return self.detections(pictures)
        if targets is None or len(targets) != len(pictures):
            raise ValueError(f"in training each of the {len(pictures)} pictures needs a target; call eval() to detect.")
        return self.losses(pictures, [with_mask_crops(each, height, width) for each in targets])

    def detections(self, pictures: Tensor) -> Detections:
        maps, sizes = self.backbone(pictures), self._sizes(pictures)
        boxes, _ = self.rpn(self._listed(pictures), maps)
        found, _ = self.roi_heads(maps, boxes, sizes)
        return found

    def losses(self, pictures: Tensor, targets: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        maps = self.backbone(pictures)
        proposals, boxes = self.propose(pictures, maps, targets)
        regions = self.look(maps, boxes, self._sizes(pictures), targets)
        return LOSSES[self.settings.losses](proposals, regions, self.settings.anchors)

    def propose(
        self, pictures: Tensor, maps: dict[str, Tensor], targets: list[dict[str, Tensor]]
    ) -> tuple[ProposalOutputs, list[Tensor]]:
        """The proposal network on the maps, for its losses, and the boxes that it proposes for each picture."""
        from torchvision.models.detection.rpn import concat_box_prediction_layers  # type: ignore[import-untyped]

        scores, changes = self.rpn.head(list(maps.values()))
        anchors = self.rpn.anchor_generator(None, list(maps.values()))
        level_sizes = [each[0].numel() for each in scores]
        scores, changes = concat_box_prediction_layers(scores, changes)
        moved = self.rpn.box_coder.decode(changes.detach(), anchors).view(len(pictures), -1, 4)
        boxes, _ = self.rpn.filter_proposals(moved, scores, self._sizes(pictures), level_sizes)
        labels, matched = self.rpn.assign_targets_to_anchors(anchors, targets)
        positive, negative = self.rpn.fg_bg_sampler(labels)
        outputs = ProposalOutputs(
            scores.flatten(),
            changes,
            torch.cat(labels),
            torch.cat(self.rpn.box_coder.encode(matched, anchors)),
            torch.where((torch.cat(positive) | torch.cat(negative)) > 0)[0],
            len(pictures),
            level_sizes,
        )
        return outputs, boxes

    def look(
        self,
        maps: dict[str, Tensor],
        boxes: list[Tensor],
        sizes: list[tuple[int, int]],
        targets: list[dict[str, Tensor]],
    ) -> RegionOutputs:
        """The heads on a sample of the proposed boxes, true ones among them."""
        heads = self.roi_heads
        regions, matched, labels, changes = heads.select_training_samples(boxes, targets)
        scores, said = heads.box_predictor(heads.box_head(heads.box_roi_pool(maps, regions, sizes)))
        positive = [each > 0 for each in labels]
        objects = [each[chosen] for each, chosen in zip(regions, positive, strict=True)]
        logits = heads.mask_predictor(heads.mask_head(heads.mask_roi_pool(maps, objects, sizes)))
        right = [
            region_masks(target["masks"][i[chosen]], target["boxes"][i[chosen]], found, logits.shape[-1])
            for target, i, chosen, found in zip(targets, matched, positive, objects, strict=True)
        ]
        return RegionOutputs(scores, said, torch.cat(labels), torch.cat(changes), logits, torch.cat(right))

    def on_shapes(self, pictures: Tensor) -> None:
        """Everything that detection computes in convolutions, dense layers and layers, whatever is in the pictures.

        All proposals reach the box head and as many detections as are kept the mask head.
        """
        maps = list(self.backbone(pictures).values())
        self.rpn.head(maps)
        channels, heads = maps[0].shape[1], self.roi_heads
        regions = pictures.new_empty(self.settings.proposals, channels, BOX_SIZE, BOX_SIZE)
        heads.box_predictor(heads.box_head(regions))
        objects = pictures.new_empty(self.settings.detections, channels, MASK_SIZE, MASK_SIZE)
        heads.mask_predictor(heads.mask_head(objects))

    def _listed(self, pictures: Tensor) -> Any:
        from torchvision.models.detection.image_list import ImageList  # type: ignore[import-untyped]

        return ImageList(pictures, self._sizes(pictures))

    def _sizes(self, pictures: Tensor) -> list[tuple[int, int]]:
        return [(pictures.shape[2], pictures.shape[3])] * len(pictures)


def proposal_network(shape: DetectorShape, layer: LayerHole, settings: DetectorSettings) -> nn.Module:
    with needs("vision", "a detector"):
        from torchvision.models.detection.rpn import RegionProposalNetwork
    return RegionProposalNetwork(
        AnchorBoxes(shape),
        ProposalHead(shape, layer),
        fg_iou_thresh=0.7,
        bg_iou_thresh=0.3,
        batch_size_per_image=settings.anchors,
        positive_fraction=0.5,
        pre_nms_top_n={"training": settings.candidates, "testing": settings.candidates_at_test},
        post_nms_top_n={"training": settings.proposals, "testing": settings.proposals},
        nms_thresh=0.7,
    )


def region_heads(shape: DetectorShape, layer: LayerHole, num_classes: int, settings: DetectorSettings) -> nn.Module:
    with needs("vision", "a detector"):
        from torchvision.models.detection.roi_heads import RoIHeads  # type: ignore[import-untyped]
    return RoIHeads(
        region_pool(shape, BOX_SIZE),
        BoxHead(shape, layer),
        BoxPredictor(shape, num_classes),
        fg_iou_thresh=0.5,
        bg_iou_thresh=0.5,
        batch_size_per_image=settings.regions,
        positive_fraction=0.25,
        bbox_reg_weights=(10.0, 10.0, 5.0, 5.0),
        score_thresh=settings.least_score,
        nms_thresh=0.5,
        detections_per_img=settings.detections,
        mask_roi_pool=region_pool(shape, MASK_SIZE),
        mask_head=head_convs(shape, layer),
        mask_predictor=MaskPredictor(shape, layer, num_classes),
    )


def region_pool(shape: DetectorShape, size: int) -> nn.Module:
    """Crops of regions from all levels, one sample a pixel; the strides are told and not guessed."""
    with needs("vision", "a detector"):
        from torchvision.ops.poolers import LevelMapper, MultiScaleRoIAlign  # type: ignore[import-untyped]
    pool = MultiScaleRoIAlign([str(level) for level in shape.all_levels], size, sampling_ratio=1)
    pool.scales = [1 / (1 << level) for level in shape.all_levels]
    pool.map_levels = LevelMapper(*shape.levels)
    return pool
