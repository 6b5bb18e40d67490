"""The opponent of against_torch.py: the same decoder in plain PyTorch, timed in windows.

    torch_peer.py train|eval --config A|B|C --encoding none|rope|alibi|t5|fire|cope
                  [--length T] [--dtype fp32|bf16] [--threads N] [--repetitions R] [--window S]

RMSNorm, SwiGLU, tied embeddings, AdamW, clipping at norm 1; bf16 is autocast. Prints one JSON line:
seconds of an iteration by window, tokens of an iteration, peak memory of the process in bytes.
Needs Debian's python3-torch. For comparison only: nothing of pesuite depends on it.
"""
import argparse
import json
import math
import resource
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

CONFIGS = {  # width, layers, heads, ff_width, length, vocabulary, batch
    "A": (128, 2, 4, 384, 64, 16, 64),
    "B": (256, 4, 4, 704, 256, 256, 16),
    "C": (512, 6, 8, 1408, 512, 4096, 8),
}


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * self.gain


def distances(length):
    place = torch.arange(length)
    return (place[:, None] - place[None, :]).clamp(min=0)


class Encoding(nn.Module):
    """What reaches attention: a bias that includes the causal mask, and changes of q, k or scores."""

    def __init__(self, kind, heads, head_dim):
        super().__init__()
        self.kind, self.heads, self.head_dim, self.fixed = kind, heads, head_dim, {}
        if kind == "t5":
            self.table = nn.Embedding(32, heads)
        if kind == "fire":
            self.mlp = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, heads))
            self.slope = nn.Parameter(torch.tensor(0.1))
            self.threshold = nn.Parameter(torch.tensor(512.0))
        if kind == "cope":
            self.places = nn.Parameter(0.02 * torch.randn(head_dim, 64))

    def tables(self, length):
        if length not in self.fixed:
            out = {"mask": torch.full((length, length), -math.inf).triu(1)}
            d = distances(length)
            if self.kind == "rope":
                rate = 10000.0 ** (-torch.arange(0, self.head_dim, 2) / self.head_dim)
                angle = torch.outer(torch.arange(length).float(), rate).repeat(1, 2)
                out["cos"], out["sin"] = angle.cos(), angle.sin()
            if self.kind == "alibi":
                slopes = torch.tensor([2.0 ** (-8 * (h + 1) / self.heads) for h in range(self.heads)])
                out["bias"] = out["mask"] - d * slopes[:, None, None]
            if self.kind == "t5":
                far = 16 + (torch.log(d.clamp(min=1) / 16) / math.log(128 / 16) * 16).long()
                out["buckets"] = torch.where(d < 16, d, far.clamp(max=31))
            if self.kind == "fire":
                out["distance"] = d.float()
                out["place"] = torch.arange(length).float()
            self.fixed[length] = out
        return self.fixed[length]

    def bias(self, length):
        t = self.tables(length)
        if self.kind == "alibi":
            return t["bias"]
        if self.kind == "t5":
            return self.table(t["buckets"]).permute(2, 0, 1) + t["mask"]
        if self.kind == "fire":
            near = torch.log(torch.abs(self.slope * t["distance"]) + 1)
            reach = torch.maximum(t["place"], torch.abs(self.threshold))
            whole = torch.log(torch.abs(self.slope * reach) + 1 + 1e-6)
            return self.mlp((near / whole[:, None])[..., None]).permute(2, 0, 1) + t["mask"]
        return t["mask"]

    def rotate(self, x, length):
        t = self.tables(length)
        a, b = x.chunk(2, -1)
        return x * t["cos"] + torch.cat((-b, a), -1) * t["sin"]

    def content(self, q, scores):
        gates = torch.sigmoid(scores)
        place = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=63)
        below, above = place.floor().long(), place.ceil().long()
        values = torch.matmul(q, self.places)
        share = place - below
        return values.gather(-1, above) * share + values.gather(-1, below) * (1 - share)


class Layer(nn.Module):
    def __init__(self, width, heads, ff_width, kind, shared):
        super().__init__()
        self.heads, self.kind = heads, kind
        self.norm, self.mlp_norm = RmsNorm(width), RmsNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.inner = nn.Linear(width, 2 * ff_width, bias=False)
        self.down = nn.Linear(ff_width, width, bias=False)
        own = kind in ("fire", "cope")  # these have parameters in every layer
        self.encoding = Encoding(kind, heads, width // heads) if own else None
        self.shared = [shared]

    def forward(self, x, bias):
        batch, length, width = x.shape
        encoding = self.encoding or self.shared[0]
        heads = self.qkv(self.norm(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k, v = heads[0], heads[1], heads[2]
        if self.kind == "rope":
            q, k = encoding.rotate(q, length), encoding.rotate(k, length)
        q = q * q.shape[-1] ** -0.5
        scores = torch.matmul(q, k.transpose(-1, -2))
        scores = scores + (encoding.bias(length) if bias is None else bias)
        if self.kind == "cope":
            scores = scores + encoding.content(q, scores)
        y = torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.out(y)
        gate, up = self.inner(self.mlp_norm(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Decoder(nn.Module):
    def __init__(self, config, kind):
        super().__init__()
        width, layers, heads, ff_width, _, vocabulary, _ = config
        self.table = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.table.weight, 0, 0.02)
        self.encoding = Encoding(kind, heads, width // heads)
        self.layers = nn.ModuleList(
            Layer(width, heads, ff_width, kind, self.encoding) for _ in range(layers))
        self.norm = RmsNorm(width)
        self.kind = kind

    def forward(self, tokens, targets):
        x = self.table(tokens)
        bias = None if self.kind == "fire" else self.encoding.bias(tokens.shape[1])
        for layer in self.layers:
            x = layer(x, bias)
        logits = F.linear(self.norm(x), self.table.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def require_fast_products():
    """A plain BLAS, which Debian's torch is content with, makes products fifty times slower."""
    with open("/proc/self/maps") as maps:
        libraries = {line.split()[-1] for line in maps}
    if any("/libblas." in name and "openblas" not in name for name in libraries):
        sys.exit("torch_peer.py: PyTorch multiplies with the reference BLAS here, which nobody trains "
                 "with; install OpenBLAS: apt-get install libopenblas0-openmp")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=["train", "eval"])
    parser.add_argument("--config", default="B", choices=CONFIGS)
    parser.add_argument("--encoding", default="rope")
    parser.add_argument("--length", type=int, default=0)
    parser.add_argument("--dtype", default="fp32", choices=["fp32", "bf16"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--window", type=float, default=0.4)
    a = parser.parse_args()
    require_fast_products()
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    config = CONFIGS[a.config]
    length = a.length or config[4]
    batch = config[6] if a.kind == "train" else max(1, 4096 // length)
    model = Decoder(config, a.encoding)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)
    text = torch.randint(0, config[5], (batch, length + 1))
    tokens, targets = text[:, :-1].contiguous(), text[:, 1:].contiguous()

    def loss():
        if a.dtype == "bf16":
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return model(tokens, targets)
        return model(tokens, targets)

    def step():
        if a.kind == "eval":
            with torch.no_grad():
                return float(loss())
        value = loss()
        optimizer.zero_grad(set_to_none=True)
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return float(value)

    step()
    start = time.perf_counter()
    step()
    count = max(1, round(a.window / (time.perf_counter() - start)))
    seconds = []
    for _ in range(a.repetitions):
        start = time.perf_counter()
        for _ in range(count):
            step()
        seconds.append((time.perf_counter() - start) / count)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": seconds, "tokens": batch * length, "peak_memory": memory}))


if __name__ == "__main__":
    main()
