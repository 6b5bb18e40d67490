#!/usr/bin/python3
"""Counts the instructions of a training step under callgrind: a figure that a busy machine does not
disturb, for finding regressions.

    tests/bench/instructions.py [--program build/bin/pesuite] [--update] [ENCODING ...]

A cell of the preset micro is trained for 2 and for 6 steps with one thread; a quarter of the
difference is a step, without the start of the program. callgrind knows AVX2 and nothing newer, so
the kernels for AVX2 are counted. The counts are compared with those in instructions.json, which
hold for the compiler and libraries named there; --update writes them anew. Exit code 0: all within
2 %; 4: one needs more; 2: callgrind (Debian: valgrind) is missing or a run failed.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BASE = os.path.join(HERE, "instructions.json")
TOLERANCE = 0.02


def instructions(program, encoding, steps, folder):
    """Instructions of the training process, the largest of those that the program starts."""
    command = [
        "valgrind", "--tool=callgrind", "--trace-children=yes",
        f"--callgrind-out-file={folder}/callgrind.%p", program, "train", "--encoding", encoding,
        "--model-size", "micro", "--task", "toylag", "--length", "64", "--batch-size", "8",
        "--max-steps", str(steps), "--threads", "1", "--eval-interval", "1000",
        "--save-interval", "1000", "--output-dir", f"{folder}/{encoding}-{steps}",
    ]
    done = subprocess.run(command, env={**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"},
                          capture_output=True, text=True)
    counts = [int(n.replace(",", "")) for n in re.findall(r"I\s+refs:\s+([\d,]+)", done.stderr)]
    if done.returncode != 0 or not counts:
        print(f"{' '.join(command)}\n{done.stderr}", file=sys.stderr)
        sys.exit(2)
    return max(counts)


def versions(program):
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    return re.sub(r"\(commit [^,]*, (changed since, )?", "(", " ".join(done.stdout.split()))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.path.join(HERE, "../../build/bin/pesuite"))
    parser.add_argument("--update", action="store_true", help="write instructions.json anew")
    parser.add_argument("encodings", nargs="*", metavar="ENCODING")
    a = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("valgrind is not on PATH; Debian: apt-get install valgrind", file=sys.stderr)
        sys.exit(2)
    base = {}
    if os.path.exists(BASE):
        with open(BASE) as f:
            base = json.load(f)["instructions_a_step"]
    counts = {}
    more = False
    with tempfile.TemporaryDirectory() as folder:
        for encoding in a.encodings or list(base) or ["none", "rope", "alibi", "t5", "cope", "fire"]:
            short, long = (instructions(a.program, encoding, n, folder) for n in (2, 6))
            counts[encoding] = (long - short) // 4
            line = f"{encoding:<12} {counts[encoding] / 1e6:8.2f} M instructions a step"
            if encoding in base:
                change = counts[encoding] / base[encoding] - 1
                line += f"  {100 * change:+.2f} % against instructions.json"
                more |= change > TOLERANCE
            print(line, flush=True)
    if a.update:
        with open(BASE, "w") as f:
            json.dump({"measured_with": versions(a.program),
                       "instructions_a_step": {**base, **counts}}, f, indent=2)
            f.write("\n")
    elif more:
        sys.exit(4)


if __name__ == "__main__":
    main()
