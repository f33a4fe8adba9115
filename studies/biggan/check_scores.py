"""FID, KID and IS of real pictures against real pictures: what the scores give where nothing is generated.

CIFAR-10's 50,000 training pictures against its 10,000 test pictures have a published FID of 3.1 to 3.15, 10,000 against
10,000 one of 5.19. `python -m studies.biggan.check_scores --training 2000 --test 2000 --precision bfloat16`
"""

import argparse
import time

import torch

from evonorm.tasks.gan.distances import frechet_distance, gaussian_of, inception_score, kernel_distance
from evonorm.tasks.gan.features import real_features
from evonorm.tasks.gan.inception_files import FID_2015, SLIM
from evonorm.tasks.gan.real_pictures import open_pictures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--training", type=int, default=50_000)
    parser.add_argument("--test", type=int, default=10_000)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--data", default="cifar10", help="a data set, or a folder in ImageNet's layout")
    parser.add_argument("--side", type=int, default=128, help="of the pictures that photos of a folder are made into")
    parser.add_argument("--score", action="store_true", help="also the Inception score of the training pictures")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    start = time.process_time()
    pictures = open_pictures(chosen.data, chosen.side)
    one = real_features(pictures, "training", chosen.training, FID_2015, chosen.precision)
    other = real_features(pictures, "test", chosen.test, FID_2015, chosen.precision)
    print(f"features: {time.process_time() - start:.0f} CPU s")
    words = f"{chosen.data}, {chosen.training} training v {chosen.test} test, {chosen.precision}, TF1 resize"
    first, second = gaussian_of(one), gaussian_of(other)
    print(f"FID {frechet_distance(first, second):.3f} ({words})")
    print(f"KID {kernel_distance(one, other):.6f}")
    print(f"squared distance of the means alone {float((first.mean - second.mean).square().sum()):.4f}")
    if chosen.score:
        logits = real_features(pictures, "training", chosen.training, SLIM, chosen.precision)
        print("IS (slim Inception v3) of the training pictures: {:.3f} ± {:.3f}".format(*inception_score(logits)))
    print(f"{time.process_time() - start:.0f} CPU s")


if __name__ == "__main__":
    main()
