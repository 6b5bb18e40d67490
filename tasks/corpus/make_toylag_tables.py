#!/usr/bin/env python3
"""Writes toylag_tables.h: the topics and the two permutations of toylag, drawn once and shipped.

A topic is the softmax of 1.2 times standard normals, in units of 2^-16, rounded by largest
remainders so that it sums to 65536 exactly. A new draw is a new version of the task.
"""
import math
import pathlib
import random

SEED = 1
TOPICS, SYMBOLS, SPREAD, UNITS = 6, 24, 1.2, 1 << 16


def topic(rng):
    weights = [math.exp(SPREAD * rng.gauss(0, 1)) for _ in range(SYMBOLS)]
    law = [w / sum(weights) * UNITS for w in weights]
    units = [int(p) for p in law]
    by_remainder = sorted(range(SYMBOLS), key=lambda s: units[s] - law[s])
    for s in by_remainder[: UNITS - sum(units)]:
        units[s] += 1
    assert sum(units) == UNITS and min(units) >= 1
    return units


def row(values):
    return "{" + ", ".join(map(str, values)) + "}"


def main():
    rng = random.Random(SEED)
    topics = ",\n    ".join(row(topic(rng)) for _ in range(TOPICS))
    permutations = ",\n    ".join(row(rng.sample(range(SYMBOLS), SYMBOLS)) for _ in range(2))
    pathlib.Path(__file__).with_name("toylag_tables.h").write_text(
        "// Written by make_toylag_tables.py: P(symbol | topic) in units of 2^-16, and what follows a\n"
        "// symbol one and three places later.\n"
        "#pragma once\n\n#include <cstdint>\n\nnamespace toylag {\n\n// clang-format off\n"
        f"inline constexpr std::uint16_t topic_symbols[{TOPICS}][{SYMBOLS}] = {{\n    {topics}}};\n"
        f"inline constexpr std::uint8_t follower[2][{SYMBOLS}] = {{\n    {permutations}}};\n"
        "// clang-format on\n\n}  // namespace toylag\n"
    )


if __name__ == "__main__":
    main()
