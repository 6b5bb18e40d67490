"""Puts together what device_report.sh has so far.

    device_report.py LOGS OUT DEVICE

LOGS: `stages`, a line a stage, its name, how it ended and its seconds, with tabs between them; NAME.log, what a stage
printed; tests.jsonl; NAME.json of benchmarks and of PyTorch. OUT becomes one JSON object.
"""
import datetime
import json
import pathlib
import subprocess
import sys

logs, out, device = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]


def said(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def read(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def tests():
    try:
        lines = (logs / "tests.jsonl").read_text().splitlines()
    except OSError:
        return None
    cases = [json.loads(line) for line in lines]
    counts = {}
    for c in cases:
        counts[c["result"]] = counts.get(c["result"], 0) + 1
    return {"counts": counts, "bad": [c for c in cases if c["result"] not in ("passed", "skipped")]}


stages = []
for line in (logs / "stages").read_text().splitlines():
    name, status, seconds = line.split("\t")
    stages.append({"name": name, "status": status, "seconds": float(seconds),
                   "output": (logs / f"{name}.log").read_text(errors="replace")[-6000:]})
packed = pathlib.Path(__file__).with_name("commit")  # of pack.sh, where there is no repository
report = {
    "schema": "pesuite.device_report/2",
    "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    "commit": packed.read_text().strip() if packed.exists() else said("git", "rev-parse", "HEAD"),
    "device": device,
    "devices": said("nvidia-smi", "--query-gpu=name,driver_version,memory.total,compute_cap,clocks.max.sm",
                    "--format=csv,noheader").splitlines(),
    "stages": stages,
    "tests": tests(),
    "benchmarks": {f.stem: read(f) for f in sorted(logs.glob("*.json")) if not f.stem.startswith("pytorch_")},
    "pytorch": {f.stem.removeprefix("pytorch_"): read(f) for f in sorted(logs.glob("pytorch_*.json"))},
}
part = out.with_name(out.name + ".part")
part.write_text(json.dumps(report, indent=1) + "\n")
part.replace(out)
