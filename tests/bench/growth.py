#!/usr/bin/python3
"""Speed against length and width, with the model that explains it.

    tests/bench/growth.py [--program build/bin/pesuite] [--out docs/figures] [--threads 2]

Forward passes of config B with rope at 256 to 16,384 tokens, and training steps of B at widths of 64
to 1,024. Fits a time per token of three terms by least squares of relative errors,

    t = products / P + attention / A + moved / M,

products and attention in floating-point operations, moved in numbers that pass between the layers'
parts (width times layers), and draws measured and fitted tokens/s. Needs gnuplot and numpy.
"""
import argparse
import json
import os
import subprocess

import numpy

LAYERS, VOCABULARY = 4, 256
LENGTHS = (256, 512, 1024, 2048, 4096, 8192, 16384)
WIDTHS = (64, 128, 256, 512, 1024)


def ff_width(width):  # as bench scales that of B
    return 704 * width // 256


def terms(width, length, passes):
    """Of one token: operations of products, of attention, and numbers moved; passes 1 or 3."""
    products = 2 * (LAYERS * (4 * width * width + 3 * width * ff_width(width)) + width * VOCABULARY)
    attention = LAYERS * 2 * width * length
    return passes * products, passes * attention, passes * LAYERS * width


def bench(program, words):
    out = subprocess.run([program, "bench", *words, "--encoding", "rope", "--json"],
                         check=True, capture_output=True, text=True)
    result = json.loads(out.stdout)
    medians = [b for b in result["benchmarks"] if b.get("aggregate_name") == "median"]
    return {b["run_name"] if "run_name" in b else b["name"]: b["tokens_per_second"]
            for b in medians if b.get("tokens_per_second", 0) > 0}


def fit(rows):
    """Least squares of t / measured - 1 with coefficients that are not negative."""
    a = numpy.array([t for t, _ in rows], float)
    seconds = numpy.array([1 / speed for _, speed in rows])
    left = list(range(a.shape[1]))
    while True:
        b = a[:, left] / seconds[:, None]
        c = numpy.linalg.lstsq(b, numpy.ones(len(rows)), rcond=None)[0]
        if (c > 0).all():
            break
        left.pop(int(c.argmin()))
    full = numpy.zeros(a.shape[1])
    full[left] = c
    return full


def draw(out, name, title, x_label, xs, rows, coefficients):
    path = os.path.join(out, name)
    with open(path + ".tsv", "w") as f:
        f.write(f"{x_label}\tmeasured\tmodel\n")
        for x, (t, speed) in zip(xs, rows):
            f.write(f"{x}\t{speed:.0f}\t{1 / numpy.dot(t, coefficients):.0f}\n")
    script = f"""set encoding utf8
set terminal svg noenhanced size 640,400 font "sans-serif,14" background "#ffffff"
set output "{path}.svg"
set title "{title}" tc rgb "#111111"
set xlabel "{x_label}" tc rgb "#111111"
set ylabel "tokens/s" tc rgb "#111111"
set logscale xy
set border 3 lc rgb "#555555"
set tics nomirror out tc rgb "#222222"
set xtics ({", ".join(f'"{x:,}" {x}' for x in xs)})
set format y "%.0s%c"
set grid ytics lc rgb "#DDDDDD" lt 1 lw 0.8
set key top right samplen 2
set datafile separator "\\t"
plot [{xs[0] * 0.8}:{xs[-1] * 1.25}] "{path}.tsv" using 1:3 skip 1 with lines lc rgb "#777777" dt (6,4) lw 1.5 title "model", \\
  "" using 1:2 skip 1 with linespoints lc rgb "#0072B2" pt 7 ps 0.8 lw 1.8 title "measured"
"""
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def describe(coefficients):
    names = ("products", "attention")
    parts = [f"{n} {1e-9 / c:.0f} GFLOP/s" for n, c in zip(names, coefficients) if c > 0]
    if coefficients[2] > 1e-13:
        parts.append(f"{1e12 * coefficients[2]:.0f} ps a number moved")
    return ", ".join(parts)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--program", default="build/bin/pesuite")
    p.add_argument("--out", default="docs/figures")
    p.add_argument("--threads", type=int, default=2)
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    shared = ["--threads", str(a.threads), "--repetitions", "5"]

    speeds = [list(bench(a.program, ["eval", "--config", "B", "--lengths", str(n), *shared]).values())[-1]
              for n in LENGTHS]
    rows = [(terms(256, n, 1), s) for n, s in zip(LENGTHS, speeds)]
    c = fit(rows)
    print("forward against length:", describe(c))
    draw(a.out, "growth_length", "Forward passes, config B, rope", "length", LENGTHS, rows, c)

    speeds = [list(bench(a.program, ["train", "--config", f"B(width={w})", *shared]).values())[-1]
              for w in WIDTHS]
    rows = [(terms(w, 256, 3), s) for w, s in zip(WIDTHS, speeds)]
    c = fit(rows)
    print("training against width:", describe(c))
    draw(a.out, "growth_width", "Training steps, config B, rope", "width", WIDTHS, rows, c)


if __name__ == "__main__":
    main()
