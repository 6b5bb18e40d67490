#!/usr/bin/env bash
# A suite through a real Slurm of one node: arrays one behind the other, a task that is warned and
# goes on from its checkpoint, one that is killed, one whose input is missing; the records are those of
# a local run, bit for bit.
#
#   slurm_test.sh PROGRAM PLUGINS
#
# Exit code 77, with the reason, where Slurm is not installed (slurm-wlm, munge) or may not be started.
set -euo pipefail
program=$(realpath "$1") plugins=$(realpath "$2")
skip() { echo "skipped: $*"; exit 77; }
for p in slurmctld slurmd sbatch munged munge; do
  command -v "$p" >/dev/null || [ -x "/usr/sbin/$p" ] || skip "$p is not installed (slurm-wlm, munge)"
done
[ "$(id -u)" = 0 ] || skip "only root can start Slurm"
PATH=$PATH:/usr/sbin
work=$(mktemp -d)
trap 'stop_slurm; rm -rf "$work"' EXIT

stop_slurm() {
  for d in slurmd ctld; do [ -s "$work/$d.pid" ] && kill "$(cat "$work/$d.pid")" 2>/dev/null; done
  [ -s "$work/munged.pid" ] && kill "$(cat "$work/munged.pid")" 2>/dev/null
  sleep 1
}
start_slurm() {
  mkdir -p "$work"/{state,spool,log} /run/munge /var/log/munge /var/lib/munge
  chown munge: /run/munge /var/log/munge /var/lib/munge /etc/munge
  [ -s /etc/munge/munge.key ] || mungekey --create --force
  chown munge: /etc/munge/munge.key && chmod 400 /etc/munge/munge.key
  if ! munge -n >/dev/null 2>&1; then
    runuser -u munge -- munged || return 1
    for _ in $(seq 10); do munge -n >/dev/null 2>&1 && break; sleep 0.5; done
    cp /run/munge/munged.pid "$work/munged.pid" 2>/dev/null || true
  fi
  local node
  node=$(hostname -s)
  cat >"$work/slurm.conf" <<C
ClusterName=pesuite
SlurmctldHost=$node(127.0.0.1)
AuthType=auth/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/ctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/log/ctld.log
SlurmdLogFile=$work/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
SlurmctldPort=26817
SlurmdPort=26818
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait=30
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$node Default=YES MaxTime=INFINITE State=UP
C
  export SLURM_CONF=$work/slurm.conf
  slurmctld -f "$SLURM_CONF" && sleep 1 && slurmd -f "$SLURM_CONF" || return 1
  for _ in $(seq 30); do sinfo -h -o %T 2>/dev/null | grep -q idle && return 0; sleep 1; done
  return 1
}
start_slurm || { tail -n 5 "$work"/log/*.log >&2; skip "Slurm does not start here"; }

fail() { echo "FAILED: $*"; tail -n 20 "$work"/results/slurm/*/logs/*.log; squeue; exit 1; }
export PESUITE_PLUGIN_PATH=$plugins
cd "$work"
printf '#!/bin/sh\ntouch "%s/ran"\n' "$work" >probe.sbatch # does it run anything at all?
sbatch --output=/dev/null --array=1-2 probe.sbatch >/dev/null 2>&1 || true
for _ in $(seq 60); do [ -e ran ] && break; sleep 0.5; done
[ -e ran ] || { sinfo; squeue; skip "this Slurm runs no job"; }
cat >t.toml <<'S'
schema = "pesuite.suite/1"
name = "t"
[defaults]
seeds = [1]
[model.micro]
preset = "micro"
[train]
budget = "3000 steps"
batch = 16
checkpoint_every = 20
[[encoding]]
expr = "rope"
[[encoding]]
expr = "rope -> yarn(scale=4) @ 50%"
[[encoding]]
expr = "alibi"
[[task]]
task = "toylag"
options = {document = 512}
train_len = 32
[[eval]]
lengths = ["1x", "2x"]
examples = 8
S
"$program" run t.toml --out local --no-report --progress none

"$program" slurm t.toml --out results 2>/dev/null
ls results/slurm/t/*.sbatch
bash results/slurm/t/submit.sh | tee submitted
first=$(sed -n 's/^stage 0: job //p' submitted)
state() { scontrol -o show job "$1" 2>/dev/null | grep -o 'JobState=[A-Z]*' | head -1 | cut -d= -f2; }
await() { # JOB STATE...: until it has one of them
  for _ in $(seq 240); do
    for s in "${@:2}"; do [ "$(state "$1")" = "$s" ] && return 0; done
    sleep 0.5
  done
  fail "job $1 is $(state "$1"), wanted ${*:2}"
}
await_checkpoint() {
  for _ in $(seq 240); do
    find results/store -name last.safetensors 2>/dev/null | grep -q . && return 0
    sleep 0.1
  done
  fail "no checkpoint"
}
await_checkpoint
# A warning, as before the end of the time: the task leaves with 75 and asks to be queued again.
scancel --signal=USR1 --batch "${first}_1"
for _ in $(seq 120); do
  scontrol -o show job "${first}_1" | grep -q 'Restarts=1' && break
  sleep 0.5
done
scontrol -o show job "${first}_1" | grep -q 'Restarts=1' || fail "the warned task was not queued again"
# Slurm lets a task that was queued again wait for two minutes.
for _ in $(seq 60); do
  scontrol update "JobId=${first}_1" StartTime=now 2>/dev/null || true
  [ "$(state "${first}_1")" = PENDING ] || break
  sleep 0.5
done
# Another one is killed and does not come back; what waits for it says so.
scancel "${first}_2" 2>/dev/null || true
report=$(sed -n 's/^report: job //p' submitted)
await "$report" COMPLETED FAILED
"$program" status --out results
# Where something was killed the same command goes on.
"$program" run t.toml --out results --no-report --progress plain --rerun failed
# It compares what both have, number by number, and ends with 8 where something differs.
"$program" merge local --out results | tee merged || fail "the records differ"
grep -q ': 0 cells new' merged || fail "the run under Slurm has not all cells"
echo "passed: $(sed 's/.*; //' merged)"
