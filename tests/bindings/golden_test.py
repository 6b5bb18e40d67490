"""Encodings through bindings/pesuite.py against the golden vectors of attention, with gradients,
tasks against their oracles, and structs against the libraries'.

golden_test.py PESUITE PLUGINS GOLDEN: the program, which says what expression a vector is about,
the folder of libraries, the folder of vectors. Exit code 77 where PyTorch is not there.
"""

import json
import math
import pathlib
import re
import subprocess
import sys
import tomllib
from unittest import mock

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "bindings"))
try:
    import torch
except ImportError:
    print("PyTorch is not installed")
    sys.exit(77)
import pesuite

KINDS = ("attention", "embedding_attention", "module_attention")


def tensor(entry):
    data = [math.inf if x == "inf" else -math.inf if x == "-inf" else x for x in entry["data"]]
    return torch.tensor(data, dtype=torch.float64).reshape(entry["shape"])


class Rules:
    """Where parameters stand in vectors, of the *.golden.toml beside the libraries."""

    def __init__(self, plugins):
        self.all = []
        for file in sorted(pathlib.Path(plugins).glob("*.golden.toml")):
            self.all += tomllib.loads(file.read_text())["rule"]

    def place(self, encoding, parameter, shape, inputs):
        given = [rule.get("parameters", {}).get(parameter) for rule in self.all
                 if rule.get("encoding", "").partition("(")[0] == encoding]
        fitting = []
        for at in given:  # of several the one that gives the parameter's shape
            source, _, axes = str(at).partition("[")
            if source not in inputs or axes and axes.count(",") + 1 != inputs[source].dim():
                continue
            extents = inputs[source].shape
            made = [extents[int(a)] for a in axes.rstrip("]").split(",")] if axes else [*extents]
            fitting.insert(0 if made == [*shape] else len(fitting), at)
        if fitting:
            return fitting[0]
        if parameter in inputs:
            return parameter
        return next((at for at in given if isinstance(at, (int, float))), None)


def model_of(case, expression):
    c, inputs = case["config"], case["inputs"]
    heads, size = c["H"], c["D"]
    kv = inputs["k"]["shape"][0] if "k" in inputs else heads
    width = c.get("d_model", heads * size)
    narrow = expression.startswith(("binary", "decimal"))  # few digits, and nothing trains here
    trained = c.get("train_len", 1 if narrow else 4096)
    return pesuite.Encoding(expression, heads=heads, head_dim=size, kv_heads=kv, width=width,
                            train_length=trained, max_length=4096,
                            plugin_path=sys.argv[2]).double()


def run(case, expression, rules):
    """The largest distance from the vector's numbers, over its tolerance; None: not for us."""
    inputs = {k: tensor(v).requires_grad_() for k, v in case["inputs"].items()
              if isinstance(v, dict) and "data" in v}
    if "q_norm" in inputs:
        return None  # norms of queries are the model's
    pe = model_of(case, expression).train(case["case"].endswith("train"))
    name = pe.name
    sources = {}
    for own, p in pe.named_parameters():
        at = rules.place(name, own, p.squeeze().shape, inputs)
        if at is None:
            return None
        with torch.no_grad():
            if isinstance(at, (int, float)):
                p.fill_(at)
                continue
            source, _, axes = str(at).partition("[")
            value = inputs[source]
            if axes:
                value = value.permute([int(a) for a in axes.rstrip("]").split(",")])
            if value.numel() != p.numel():
                return None
            p.copy_(value.reshape(p.shape))
        sources[source] = (p, axes, inputs[source].shape)
    T, H, D = case["config"]["T"], case["config"]["H"], case["config"]["D"]
    noted = re.search(r"offset=(\d+)", case.get("notes") or "")
    offset = int(case["config"].get("offset", noted[1] if noted else 0))
    x = inputs.get("x")
    pe.begin(torch.zeros(1, T, H * D, dtype=torch.float64), offset=offset)
    if case["kind"] == "attention":
        q, k, v = (inputs[n][None] for n in "qkv")
        h = x[None] if x is not None else None
    else:
        h = x[None]
        if case["kind"] == "embedding_attention":
            h = pe.embed(h)
        linear = case["kind"] == "module_attention"  # weights are [out, in]
        q, k, v = ((h @ (inputs[w].T if linear else inputs[w])).reshape(1, T, -1, D).transpose(1, 2)
                   for w in ("wq", "wk", "wv"))
    if abs(case["config"].get("scale", 1 / math.sqrt(D)) - 1 / math.sqrt(D)) > 1e-12 and \
            "drope" not in name:
        return None
    out = pe.attention(q, k, v, x=h)[0]
    wanted = tensor(case["outputs"]["O"])
    if out.shape != wanted.shape:
        out = out.transpose(0, 1).reshape(wanted.shape)
    (out * inputs["dO"]).sum().backward()
    found = {"O": out.detach()}
    for key in case["outputs"]:
        source = key.removeprefix("d_") if key.startswith("d_") else key.removeprefix("d")
        if source in sources:
            p, axes, shape = sources[source]
            g = torch.zeros_like(p) if p.grad is None else p.grad
            if axes:
                order = [int(a) for a in axes.rstrip("]").split(",")]
                g = g.reshape([shape[a] for a in order]).permute(
                    [order.index(i) for i in range(len(order))])
            found[key] = g.reshape(shape)
        elif key != "O" and source in inputs and inputs[source].grad is not None:
            found[key] = inputs[source].grad
    t = case["tolerance"]
    worst = 0.0
    for key, value in found.items():
        wanted = tensor(case["outputs"][key])
        bound = t["abs"] + t["rel"] * float(wanted.abs().max())
        worst = max(worst, float((value - wanted).abs().max()) / bound)
    return worst


def stand_in_for_fused_attention(q, k, v, is_causal=False):
    """What PyTorch 2.0's scaled_dot_product_attention computes, for versions that have none."""
    assert is_causal
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    hidden = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(hidden, -math.inf), -1) @ v


def require_todays_structs(plugins):
    """Libraries of this tree are built with today's header: their structs have its sizes."""
    for file in sorted(pathlib.Path(plugins).glob("*.plugin.so")):
        entry = pesuite._library(file)
        assert (entry.abi_major, entry.abi_minor) == (pesuite.MAJOR, pesuite.MINOR), file
        assert entry.size == pesuite.C.sizeof(pesuite._Library), file
        for kind, one in [("_Encoding", e) for e in pesuite._each(entry.encodings)] + [
                ("_Task", t) for t in pesuite._each(entry.tasks)]:
            assert one.size == pesuite.C.sizeof(getattr(pesuite, kind)), (file, kind)
            assert one.card.contents.size == pesuite.C.sizeof(pesuite._Card), file
            for option in pesuite._each(one.card.contents.options):
                assert option.size == pesuite.C.sizeof(pesuite._Option), file


def tasks_that_their_oracles_answer(plugins):
    """Tasks whose examples, as the bindings hand them over, have the answers of their oracle."""
    C = pesuite.C
    answer = C.CFUNCTYPE(None, C.c_void_p, C.POINTER(C.c_int32), C.c_int32, C.POINTER(C.c_int32))
    right = 0
    for name in pesuite.tasks(plugins):
        try:
            task = pesuite.Task(name, train_length=65, max_length=130, plugin_path=plugins)
        except pesuite.Error:
            continue  # it reads files that are not named here
        if not task._hooks.oracle:
            continue
        for index, split in ((0, "train"), (7, "test")):
            for length in (65, 64, 63):  # some have lengths of their own
                try:
                    e = task.example(index, length, split=split)
                    break
                except pesuite.Error:
                    e = None
            assert e is not None, name
            tokens = (C.c_int32 * length)(*e["tokens"].tolist())
            targets = (C.c_int32 * length)()
            answer(task._hooks.oracle)(task._self, tokens, length, targets)
            scored = e["targets"] >= 0
            assert int(scored.sum()) > 0 and torch.equal(
                torch.tensor(list(targets))[scored], e["targets"][scored]), (name, split)
        right += 1
    return right


def require_refusals(plugins):
    """Sizes, shapes and names that nothing could mean are an Error with a sentence."""
    def encoding(expression="rope", heads=4, head_dim=8, **more):
        return pesuite.Encoding(expression, heads=heads, head_dim=head_dim, plugin_path=plugins,
                                **more)

    def attention(q=(2, 4, 6, 8), k=(2, 2, 6, 8), layer=0, dtype=torch.float32):
        e = encoding(kv_heads=2, layers=3).begin(torch.zeros(2, 6, 32))
        q, k = (torch.zeros(shape, dtype=dtype) for shape in (q, k))
        return e.attention(q, k, k, layer=layer)

    def example(*where, **more):
        return pesuite.Task("niah", train_length=64, max_length=128, plugin_path=plugins).example(
            *where, **more)

    assert attention().shape == (2, 4, 6, 8) and len(example(0, 128)["tokens"]) == 128
    for says, body in (
            ("heads is 0, and goes from 1", lambda: encoding(heads=0)),
            ("heads is 2.5, and has to be a whole number", lambda: encoding(heads=2.5)),
            ("head_dim is 4294967304, and goes", lambda: encoding(head_dim=2**32 + 8)),
            ("kv_heads is 3, and has to divide heads, 4", lambda: encoding(kv_heads=3)),
            ("max_length is 8, below train_length, 64",
             lambda: encoding(train_length=64, max_length=8)),
            ("'buckets' is '2.5', and has to be a whole number",
             lambda: encoding("t5(buckets=2.5)")),
            ("plugin_path /nowhere is not there", lambda: pesuite.tasks("/nowhere")),
            ("q is [2, 4, 5, 8], and has to be [B=2, H=4, T=6, D=8]",
             lambda: attention(q=(2, 4, 5, 8))),
            ("k is [2, 4, 6, 8], and has to be [B=2, G=2, T=6, D=8]",
             lambda: attention(k=(2, 4, 6, 8))),
            ("layer is 3, and goes from 0 to 2", lambda: attention(layer=3)),
            ("q is of torch.int64", lambda: attention(dtype=torch.int64)),
            ("like is [5], and has to be [B, T, ...]", lambda: encoding().begin(torch.zeros(5))),
            ("length is 129, and goes from 1 to 128", lambda: example(0, 129)),
            ("index is -1, and goes from 0", lambda: example(-1, 64)),
            ("split is 'tests'; there are train, val", lambda: example(0, 64, split="tests")),
            ("axis depth is 'deep', and has to be a number", lambda: example(0, 64, depth="deep"))):
        try:
            body()
        except pesuite.Error as e:
            assert says in str(e), f"'{e}' does not say '{says}'"
        else:
            raise AssertionError(f"nothing was refused: {says}")


def main():
    program, plugins, golden = sys.argv[1:4]
    said = json.loads(subprocess.run(
        [program, "plugin", "golden", golden, "--plugin-path", plugins, "--backend", "reference",
         "--json"], capture_output=True, text=True, check=True).stdout)
    rules = Rules(plugins)
    require_todays_structs(plugins)
    require_refusals(plugins)
    tasks = tasks_that_their_oracles_answer(plugins)
    print(f"{tasks} tasks hand over what their oracles answer")
    passed, left_out, failed, encodings = 0, [], [], set()
    for one in said["cases"]:
        if one["kind"] not in KINDS or one["status"] != "passed":
            continue
        case = json.loads((pathlib.Path(golden) / (one["name"] + ".json")).read_text())
        try:
            worst = run(case, one["encoding"], rules)
            if worst is not None:
                with mock.patch.object(torch.nn.functional, "scaled_dot_product_attention",
                                       stand_in_for_fused_attention, create=True):
                    worst = max(worst, run(case, one["encoding"], rules))
        except pesuite.Error as e:
            failed.append(f"{one['name']}: {e}")
            continue
        if worst is None:
            left_out.append(one["name"])
        elif worst <= 1:
            passed += 1
            encodings.add(one["encoding"].partition("(")[0])
        else:
            failed.append(f"{one['name']}, {one['encoding']}: {worst:.3g} times its tolerance")
    print(f"{passed} vectors of {len(encodings)} encodings agree; {len(left_out)} are not for this "
          f"host: {', '.join(left_out)}")
    for f in failed:
        print("failed", f)
    return 1 if failed or passed < 100 or tasks < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
