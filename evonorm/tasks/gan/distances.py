"""FID, KID and the Inception score, from features and logits alone."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

BLOCK = 1000  # rows of a kernel matrix at a time


@dataclass(frozen=True)
class Gaussian:
    """Mean (d,) and unbiased covariance (d, d) of features, in float64."""

    mean: Tensor
    covariance: Tensor


def gaussian_of(features: Tensor) -> Gaussian:
    """Of features (n, d)."""
    wide = features.double()
    return Gaussian(wide.mean(0), torch.cov(wide.T))


def frechet_distance(one: Gaussian, other: Gaussian) -> float:
    """|m1 - m2|² + tr(C1 + C2 - 2 (C1 C2)^½) (Heusel et al. 2017).

    The trace of the root is the sum of the roots of the eigenvalues of A C2 A with A the root of C1, a symmetric matrix
    like C1 itself: nothing complex comes up where a covariance is singular, as it is below 2049 pictures.
    """
    values, vectors = torch.linalg.eigh(one.covariance)
    root = (vectors * values.clamp_min(0).sqrt()) @ vectors.T
    both = torch.linalg.eigvalsh(root @ other.covariance @ root).clamp_min(0).sqrt().sum()
    apart = (one.mean - other.mean).square().sum()
    return float(apart + one.covariance.trace() + other.covariance.trace() - 2 * both)


def kernel_distance(one: Tensor, other: Tensor) -> float:
    """KID (Bińkowski et al. 2018): the squared maximum mean discrepancy under (x·y / d + 1)³, unbiased, of all pairs.

    It may be negative. Unlike FID it does not depend on how many pictures there are, but for its noise.
    """
    within = sum(_kernel_sum(each, each, apart=True) / (len(each) * (len(each) - 1)) for each in (one, other))
    return within - 2 * _kernel_sum(one, other, apart=False) / (len(one) * len(other))


def _kernel_sum(rows: Tensor, columns: Tensor, apart: bool) -> float:
    """Over all pairs; with `apart`, over pairs of different rows of one set."""
    total = 0.0
    for block in rows.split(BLOCK):
        total += float((block @ columns.T / rows.shape[1] + 1).pow(3).sum(dtype=torch.float64))
    if apart:
        total -= float((rows.square().sum(1) / rows.shape[1] + 1).pow(3).sum(dtype=torch.float64))
    return total


def inception_score(logits: Tensor, splits: int = 10) -> tuple[float, float]:
    """exp of the mean divergence of p(class | picture) from p(class) (Salimans et al. 2016): mean and deviation.

    Over equal parts, whose number is the literature's.
    """
    scores = []
    for part in logits.double().tensor_split(splits):
        log = torch.log_softmax(part, 1)
        overall = torch.logsumexp(log, 0) - math.log(len(part))
        scores.append(float((log.exp() * (log - overall)).sum(1).mean().exp()))
    found = torch.tensor(scores, dtype=torch.float64)
    return float(found.mean()), float(found.std(unbiased=False))
