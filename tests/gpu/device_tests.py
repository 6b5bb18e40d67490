"""Runs the cases of a GoogleTest program in several processes, for device_report.sh.

    device_tests.py PROGRAM --out FILE [--jobs 8] [--seconds 120] [--case-seconds 60] [--filter F] [--alone F]

Each process runs a share of the cases. One that crashes or hangs costs its case alone: the rest of its share goes
on in a new process. Cases of --alone, which measure time, follow when all others are done. Every case is a JSON line
in FILE as soon as it ends, so that what is known survives whatever happens later. Prints how many passed, and each
failure with the start of what it said. Exit code 1: one failed.
"""
import argparse
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time


def cases_of(program, wanted):
    suite, cases = "", []
    said = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={wanted}"], capture_output=True, text=True,
                          check=True).stdout
    for line in said.splitlines():
        name = line.split("#")[0].rstrip()
        if line.startswith(" "):
            cases.append(suite + name.strip())
        elif name.endswith("."):
            suite = name
    return cases


class Share:
    """The cases of one process and of those that take over from it."""

    def __init__(self, program, cases, stop, case_seconds, say):
        self.program, self.left, self.stop, self.case_seconds, self.say = program, cases, stop, case_seconds, say

    def run(self):
        while self.left and time.monotonic() < self.stop:
            before = len(self.left)
            self.start()
            if len(self.left) == before:  # no case was even begun
                self.ended(self.left[0], "crashed", 0, "the program ended before its first case")
        for case in self.left:
            self.say({"case": case, "result": "not run", "seconds": 0, "said": ""})

    def ended(self, case, result, seconds, said):
        if case in self.left:
            self.left.remove(case)
        self.say({"case": case, "result": result, "seconds": seconds, "said": said[:8000]})

    def start(self):
        process = subprocess.Popen([self.program, "--gtest_filter=" + ":".join(self.left[:200])],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        lines = queue.Queue()

        def read():
            for line in process.stdout:
                lines.put(line)
            lines.put(None)

        threading.Thread(target=read, daemon=True).start()
        case, begun, said = None, 0.0, []
        while True:
            until = min(self.stop, begun + self.case_seconds if case else time.monotonic() + self.case_seconds)
            try:
                line = lines.get(timeout=max(0.01, until - time.monotonic()))
            except queue.Empty:
                process.kill()
                if case:
                    late = time.monotonic() >= self.stop
                    self.ended(case, "not run" if late else "timed out", time.monotonic() - begun, "".join(said))
                return
            if line is None:
                if case:
                    self.ended(case, "crashed", time.monotonic() - begun,
                               f"exit status {process.wait()}\n" + "".join(said))
                return
            mark = re.match(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] (\S+)", line)
            if mark and mark[1] == "RUN":
                case, begun, said = mark[2], time.monotonic(), []
            elif mark and case and mark[2].rstrip(",") == case:
                result = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}[mark[1]]
                self.ended(case, result, time.monotonic() - begun, "".join(said))
                case = None
            elif case:
                said.append(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--out", required=True)
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1))
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--case-seconds", type=float, default=60)
    parser.add_argument("--filter", default="*")
    parser.add_argument("--alone", default="Events.*")
    flags = parser.parse_args()
    stop = time.monotonic() + flags.seconds
    cases = cases_of(flags.program, flags.filter)
    alone = [c for c in cases_of(flags.program, flags.alone) if c in set(cases)]
    cases = [c for c in cases if c not in set(alone)]
    results, lock = [], threading.Lock()
    with open(flags.out, "w", encoding="utf-8") as out:

        def say(result):
            with lock:
                results.append(result)
                out.write(json.dumps(result) + "\n")
                out.flush()

        shares = [Share(flags.program, cases[i::flags.jobs], stop, flags.case_seconds, say) for i in range(flags.jobs)]
        threads = [threading.Thread(target=s.run) for s in shares]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        Share(flags.program, alone, stop, flags.case_seconds, say).run()
    counts = {}
    for r in results:
        counts[r["result"]] = counts.get(r["result"], 0) + 1
    bad = [r for r in results if r["result"] not in ("passed", "skipped")]
    for r in bad:
        print(f'{r["result"]}: {r["case"]} ({r["seconds"]:.1f} s)\n{r["said"][:400]}')
    print(", ".join(f"{n} {result}" for result, n in sorted(counts.items())) or "no case")
    sys.exit(1 if bad else 0)


main()
