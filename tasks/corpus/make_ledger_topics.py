#!/usr/bin/env python3
"""Writes ledger_topics.h: the topics of the ledger language, drawn once and shipped.

Each row is a law on the filler words in units of 2^-16: .98 of a draw from Dirichlet(.15) and .02
of the uniform law, rounded by largest remainders so that the row sums to 65536 exactly. A new draw
is a new version of the task.
"""
import pathlib
import random

SEED = 1
TOPICS, WORDS, CONCENTRATION, UNIFORM, UNITS = 8, 96, 0.15, 0.02, 1 << 16


def draw_topic(rng):
    weights = [rng.gammavariate(CONCENTRATION, 1) for _ in range(WORDS)]
    total = sum(weights)
    return [(1 - UNIFORM) * w / total + UNIFORM / WORDS for w in weights]


def round_to_units(law):
    units = [int(p * UNITS) for p in law]
    by_remainder = sorted(range(len(law)), key=lambda w: units[w] - law[w] * UNITS)
    for w in by_remainder[: UNITS - sum(units)]:
        units[w] += 1
    assert sum(units) == UNITS and min(units) >= 1
    return units


def c_row(units):
    lines = [", ".join(map(str, units[i : i + 16])) for i in range(0, WORDS, 16)]
    return "    {" + ",\n     ".join(lines) + "}"


def main():
    rng = random.Random(SEED)
    rows = ",\n".join(c_row(round_to_units(draw_topic(rng))) for _ in range(TOPICS))
    pathlib.Path(__file__).with_name("ledger_topics.h").write_text(
        "// Written by make_ledger_topics.py: P(filler word | topic) in units of 2^-16.\n"
        "#pragma once\n\n#include <cstdint>\n\nnamespace ledger {\n\n// clang-format off\n"
        f"inline constexpr std::uint16_t topic_words[{TOPICS}][{WORDS}] = {{\n{rows}}};\n"
        "// clang-format on\n\n}  // namespace ledger\n"
    )


if __name__ == "__main__":
    main()
