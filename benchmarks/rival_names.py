"""Which classes of timm are the layers that we ship too."""

RIVALS = {
    "evonorm-b0": ("EvoNorm2dB0",),
    "evonorm-b1": ("EvoNorm2dB1",),
    "evonorm-b2": ("EvoNorm2dB2",),
    "evonorm-s0": ("EvoNorm2dS0", "EvoNorm2dS0a"),
    "evonorm-s1": ("EvoNorm2dS1", "EvoNorm2dS1a"),
    "evonorm-s2": ("EvoNorm2dS2", "EvoNorm2dS2a"),
}
