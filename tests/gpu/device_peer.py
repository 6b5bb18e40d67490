"""What PyTorch needs for the same on the same device, for device_report.sh.

    device_peer.py attention --lengths 1024,4096 [--device cuda] [--dtype bf16]
    device_peer.py train --config WIDTH,LAYERS,HEADS,FF,VOCABULARY --length T --batch B [--compile]

attention: 8 heads of 64, causal, batch 1, as `pesuite bench attention`: its fused attention, and
where this PyTorch has it FlexAttention, with a slope (ALiBi), with a learned table by distance (T5)
and with a learned bias for each two tokens. Where its own tiles need more memory than a
multiprocessor has, with tiles of 64 by 32, which the name then says. train: steps of a decoder with RMSNorm, SwiGLU, RoPE
and tied embeddings, fused attention, AdamW, clipping, bf16 by autocast. Times are medians by the
device's events; --device cpu tries the script.
Prints one JSON object, or writes it to --out, anew after each row: who stops it keeps what there is.
For comparison only: nothing of pesuite depends on it.
"""
import argparse
import json
import pathlib
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "bench"))
from torch_peer import RmsNorm  # noqa: E402  the CPU's peer has the same norm

HEADS, SIZE = 8, 64


class Clock:
    def __init__(self, device):
        self.device = device

    def seconds(self, body, times):
        """Of each of `times` in a row: a device then does not wait for the program."""
        if self.device != "cuda":
            start = time.perf_counter()
            body()
            return time.perf_counter() - start
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(times):
            body()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) * 1e-3 / times

    def median(self, body, repetitions, times=1):
        for _ in range(3):  # compiles, chooses kernels
            body()
        return statistics.median(self.seconds(body, times) for _ in range(repetitions))


def useful_flops(length, both):
    return 4 * HEADS * SIZE * length * (length + 1) / 2 * (3.5 if both else 1)


def fused(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def composed(q, k, v):  # where there is no fused one
    length = q.shape[2]
    mask = torch.full((length, length), float("-inf"), device=q.device, dtype=q.dtype).triu(1)
    return torch.softmax(q @ k.transpose(-1, -2) * SIZE**-0.5 + mask, -1) @ v


def flex_variants(length, device):
    """For each slot: name, attention and what it trains besides, by PyTorch's own tiles and by smaller
    ones; empty where this PyTorch has no FlexAttention."""
    try:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    except ImportError:
        return []
    if device != "cuda":
        return []
    torch._dynamo.reset()  # it counts how often one function was compiled, and stops at eight
    flex = torch.compile(flex_attention, dynamic=False)
    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, length, length, device=device)
    slopes = torch.tensor([2.0 ** (-8 * (h + 1) / HEADS) for h in range(HEADS)], device=device)
    table = torch.randn(HEADS, length, device=device, requires_grad=True)
    bias = torch.randn(HEADS, length, length, device=device, requires_grad=True)

    smaller = {"fwd_BLOCK_M": 64, "fwd_BLOCK_N": 32, "bwd_BLOCK_M1": 32, "bwd_BLOCK_N1": 64,
               "bwd_BLOCK_M2": 64, "bwd_BLOCK_N2": 32, "num_stages": 1}

    def variants(name, score, learned):
        def with_options(options):
            return lambda q, k, v: flex(q, k, v, score_mod=score, block_mask=mask,
                                        kernel_options=options)

        return [(f"flex/{name}", with_options(None), learned),
                (f"flex, small tiles/{name}", with_options(smaller), learned)]

    return [  # each takes ten seconds or more to compile: what nobody has timed yet comes first
        variants("bias", lambda s, b, h, q, k: s + bias[h, q, k], [bias]),
        variants("table", lambda s, b, h, q, k: s + table[h, (q - k).clamp(min=0)], [table]),
        variants("none", lambda s, b, h, q, k: s, []),
        variants("slope", lambda s, b, h, q, k: s + slopes[h] * (k - q), []),
    ]


def attention(a):
    clock = Clock(a.device)
    kind = torch.bfloat16 if a.dtype == "bf16" else torch.float32
    has_fused = hasattr(F, "scaled_dot_product_attention")
    for length in [int(n) for n in a.lengths.split(",")]:
        q, k, v = (torch.randn(1, HEADS, length, SIZE, device=a.device, dtype=kind,
                               requires_grad=True) for _ in range(3))
        dy = torch.randn_like(q)
        plain = ("sdpa", fused, []) if has_fused else ("composed", composed, [])
        for ways in [[plain], *flex_variants(length, a.device)]:
            for name, run, learned in ways:
                rows = list(attention_rows(clock, a.repetitions, f"attention/{name}/{length}", run,
                                           [q, k, v], learned, dy))
                yield from rows
                if not any("error" in row for row in rows):
                    break


def attention_rows(clock, repetitions, name, run, qkv, learned, dy):
    def forward():
        with torch.no_grad():
            return run(*qkv)

    def both():
        torch.autograd.grad(run(*qkv), [*qkv, *learned], dy)

    for what, body, twice in (("forward", forward, False), ("forward+backward", both, True)):
        row = {"name": f"{name}/{what}"}
        try:
            row["seconds"] = clock.median(body, repetitions, times=10)
            row["flops"] = useful_flops(qkv[0].shape[2], twice) / row["seconds"]
        except RuntimeError as error:  # one that this PyTorch cannot do ends nothing else
            row["error"] = str(error)[:300]
        yield row


class Layer(nn.Module):
    def __init__(self, width, heads, ff_width):
        super().__init__()
        self.heads = heads
        self.norm, self.mlp_norm = RmsNorm(width), RmsNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.inner = nn.Linear(width, 2 * ff_width, bias=False)
        self.down = nn.Linear(ff_width, width, bias=False)

    def forward(self, x, cos, sin):
        batch, length, width = x.shape
        heads = self.qkv(self.norm(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k, v = heads[0], heads[1], heads[2]

        def turned(y):
            first, second = y.chunk(2, -1)
            return (y * cos + torch.cat((-second, first), -1) * sin).to(v.dtype)

        run = fused if hasattr(F, "scaled_dot_product_attention") else composed
        y = run(turned(q), turned(k), v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.out(y)
        gate, up = self.inner(self.mlp_norm(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Decoder(nn.Module):
    def __init__(self, width, layers, heads, ff_width, vocabulary, length):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.table.weight, 0, 0.02)
        self.layers = nn.ModuleList(Layer(width, heads, ff_width) for _ in range(layers))
        self.norm = RmsNorm(width)
        size = width // heads
        rate = 10000.0 ** (-torch.arange(0, size, 2) / size)
        angle = torch.outer(torch.arange(length).float(), rate).repeat(1, 2)
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, tokens, targets):
        x = self.table(tokens)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        logits = F.linear(self.norm(x), self.table.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def train(a):
    width, layers, heads, ff_width, vocabulary = (int(n) for n in a.config.split(","))
    model = Decoder(width, layers, heads, ff_width, vocabulary, a.length).to(a.device)
    fast = {"fused": True} if a.device == "cuda" else {}
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1,
                                  **fast)
    text = torch.randint(0, vocabulary, (a.batch, a.length + 1), device=a.device)
    tokens, targets = text[:, :-1].contiguous(), text[:, 1:].contiguous()
    run = torch.compile(model) if a.compile else model

    def step():
        with torch.autocast(a.device, dtype=torch.bfloat16, enabled=a.dtype == "bf16"):
            loss = run(tokens, targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    seconds = Clock(a.device).median(step, a.repetitions)
    count = sum(p.numel() for p in model.parameters())
    flops = (6 * count + 6 * layers * width * a.length) * a.batch * a.length  # causal
    yield {"name": "train/" + ("compiled" if a.compile else "eager"), "seconds": seconds,
           "tokens_per_second": a.batch * a.length / seconds, "flops": flops / seconds,
           "parameters": count}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=["attention", "train"])
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--dtype", default="bf16", choices=["bf16", "fp32"])
    parser.add_argument("--lengths", default="1024,4096")
    parser.add_argument("--config", default="768,12,12,2048,50304")
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--out", type=pathlib.Path)
    a = parser.parse_args()
    torch.manual_seed(0)
    rows = []
    for row in attention(a) if a.kind == "attention" else train(a):
        rows.append(row)
        memory = torch.cuda.max_memory_allocated() if a.device == "cuda" else None
        found = json.dumps({"torch": torch.__version__, "dtype": a.dtype, "memory": memory,
                            "rows": rows})
        if a.out:
            a.out.write_text(found + "\n")
    if not a.out:
        print(found)


if __name__ == "__main__":
    main()
