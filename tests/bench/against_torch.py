#!/usr/bin/python3
"""Times pesuite against PyTorch, in turn on the same machine.

    tests/bench/against_torch.py [--program build/bin/pesuite] [--rounds 5] [--threads 2] [--isa avx2]
                                 [ROW ...]

A ROW is train/CONFIG/ENCODING/DTYPE or eval/CONFIG/ENCODING/DTYPE/LENGTH; without any, all rows of
docs/performance.md. In each round both programs run once, the peer first in every other round; the
ratio is of the round's medians. Shown are the median ratio with quartiles, both programs' tokens/s,
peak memory, and both commands. PyTorch is tuned as an expert would: OpenBLAS with AVX-512 kernels,
memory that is not given back. With --isa avx2 both programs, and the libraries under them, are held
to AVX2, as on a processor that has no more. Needs Debian's python3-torch and libopenblas0-openmp.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TUNED = {
    "OPENBLAS_CORETYPE": "SkylakeX",
    "ATEN_CPU_CAPABILITY": "avx512",
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": "-1",
    "MALLOC_TOP_PAD_": "67108864",
}
AVX2 = {"OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "avx2"}
LIMIT = {"ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2"}
DEFAULT = (
    [f"train/{c}/rope/{d}" for d in ("fp32", "bf16") for c in "ABC"]
    + [f"train/{c}/cope/fp32" for c in "BC"]
    + [f"eval/B/rope/fp32/{n}" for n in (256, 1024, 4096)]
    + [f"eval/B/{e}/fp32/4096" for e in ("fire", "cope")]
)


def commands(row, a):
    kind, config, encoding, dtype, *length = row.split("/")
    shared = ["--config", config, "--encoding", encoding, "--threads", str(a.threads)]
    shared += ["--repetitions", "3", "--window", str(a.window)]
    ours = [a.program, "bench", kind, *shared, "--dtype", dtype, "--json"]
    peer = ["/usr/bin/python3", os.path.join(HERE, "torch_peer.py"), kind, *shared, "--dtype", dtype]
    if length:
        ours += ["--lengths", length[0]]
        peer += ["--length", length[0]]
    return ours, peer


def run(command, environment):
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


def our_result(command, environment):
    out = run(command, environment)
    median = [b for b in out["benchmarks"] if b.get("aggregate_name") == "median"][-1]
    return median["tokens_per_second"], out["context"]["peak_memory"]


def peer_result(command, environment):
    out = run(command, environment)
    return out["tokens"] / statistics.median(out["seconds"]), out["peak_memory"]


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.path.join(HERE, "../../build/bin/pesuite"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--window", type=float, default=0.4, help="seconds of a timed window")
    parser.add_argument("--isa", choices=["avx512", "avx2"], default="avx512",
                        help="instructions that both programs may use")
    parser.add_argument("rows", nargs="*", metavar="ROW")
    a = parser.parse_args()
    rows = a.rows or [r for r in DEFAULT if a.isa == "avx512" or "bf16" not in r]
    limit = LIMIT if a.isa == "avx2" else {}
    peers = {**TUNED, **(AVX2 if a.isa == "avx2" else {}), **limit}
    print("| row | ratio (quartiles) | pesuite tokens/s | PyTorch tokens/s | pesuite MB | PyTorch MB |")
    print("|---|---:|---:|---:|---:|---:|", flush=True)
    for row in rows:
        ours, peer = commands(row, a)
        ratios, mine, theirs, memory = [], [], [], [0, 0]
        for r in range(a.rounds):
            if r % 2 == 0:
                (p, pm), (o, om) = peer_result(peer, peers), our_result(ours, limit)
            else:
                (o, om), (p, pm) = our_result(ours, limit), peer_result(peer, peers)
            ratios.append(o / p), mine.append(o), theirs.append(p)
            memory = [max(memory[0], om), max(memory[1], pm)]
        low, middle, high = quartiles(ratios)
        print(f"| {row} | {middle:.2f} ({low:.2f} .. {high:.2f}) | {statistics.median(mine):,.0f} "
              f"| {statistics.median(theirs):,.0f} | {memory[0] / 1e6:.0f} | {memory[1] / 1e6:.0f} |",
              flush=True)
    print()
    for name, environment, command in zip(("Ours", "Peer"), (limit, peers), commands(rows[0], a)):
        print(f"{name}: " + " ".join([*(f"{k}={v}" for k, v in environment.items()), *command]))


if __name__ == "__main__":
    main()
