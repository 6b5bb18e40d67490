#!/usr/bin/env python3
"""Makes the vectors of model_vectors_test.cpp: small decoders written in plain PyTorch, in double.

For each configuration: start values, one batch, the loss, all gradients, and the losses and weights
of ten AdamW steps with clipping. Written once and committed; needs Debian's python3-torch:

    /usr/bin/python3 tests/model/make_vectors.py tests/model/vectors
"""
import json
import math
import struct
import sys

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


def write_safetensors(path, tensors, metadata):
    header, at = {"__metadata__": metadata}, 0
    for name, t in tensors.items():
        n = t.numel() * 8
        header[name] = {"dtype": "F64", "shape": list(t.shape), "data_offsets": [at, at + n]}
        at += n
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)))
        f.write(text)
        for t in tensors.values():
            f.write(struct.pack(f"<{t.numel()}d", *t.flatten().tolist()))


def norm(c, p, name, x):
    if c["norm"] == "layer":
        return F.layer_norm(x, x.shape[-1:], p[name + ".weight"], p[name + ".bias"], c["eps"])
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + c["eps"]) * p[name + ".weight"]


def rms(x, gain, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * gain


def linear(p, name, x):
    return F.linear(x, p[name + ".weight"], p.get(name + ".bias"))


def rotated(x, base=10000.0):
    T, D = x.shape[-2:]
    angle = torch.outer(torch.arange(T).double(), base ** (-torch.arange(0, D, 2).double() / D))
    z = torch.complex(x[..., : D // 2], x[..., D // 2:]) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([z.real, z.imag], -1)


def logits(c, p, tokens):
    B, T = tokens.shape
    H, G, D = c["heads"], c["kv_heads"], c["width"] // c["heads"]
    x = p["embedding.weight"][tokens]
    if c["encoding"] == "learned":
        x = x + p["encoding.table"][:T]
    mask = torch.full((T, T), -math.inf).triu(1)
    if c["encoding"] == "alibi":
        i = torch.arange(T)
        distance = (i[:, None] - i[None]).clamp(min=0)
        slopes = torch.tensor([2.0 ** (-8 * (h + 1) / H) for h in range(H)])
        mask = mask - slopes[:, None, None] * distance
    for n in range(c["layers"]):
        at = f"layers.{n}."
        h = norm(c, p, at + "attention_norm", x)
        qkv = linear(p, at + "attention.qkv", h)
        q, k, v = qkv.split([H * D, G * D, G * D], -1)
        q = q.view(B, T, H, D).transpose(1, 2)
        k = k.view(B, T, G, D).transpose(1, 2)
        v = v.view(B, T, G, D).transpose(1, 2)
        if c["qk_norm"] == "before":
            q = rms(q, p[at + "attention.q_norm.weight"], c["eps"])
            k = rms(k, p[at + "attention.k_norm.weight"], c["eps"])
        if c["encoding"] == "rope":
            q, k = rotated(q), rotated(k)
        if c["qk_norm"] == "after":
            q = rms(q, p[at + "attention.q_norm.weight"], c["eps"])
            k = rms(k, p[at + "attention.k_norm.weight"], c["eps"])
        k, v = k.repeat_interleave(H // G, 1), v.repeat_interleave(H // G, 1)
        scores = q @ k.transpose(-1, -2) / math.sqrt(D) + mask
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, H * D)
        after = x + linear(p, at + "attention.out", y)
        h = norm(c, p, at + "mlp_norm", x if c["parallel"] else after)
        h = linear(p, at + "mlp.in", h)
        if c["activation"] == "swiglu":
            gate, up = h.chunk(2, -1)
            h = F.silu(gate) * up
        else:
            h = F.gelu(h)
        x = after + linear(p, at + "mlp.down", h)
    h = norm(c, p, "norm", x)
    w = p["embedding.weight"] if c["tied"] else p["head.weight"]
    return F.linear(h, w, p.get("head.bias"))


def shapes(c):
    W, V, ff, D = c["width"], c["vocabulary"], c["ff_width"], c["width"] // c["heads"]
    qkv = (c["heads"] + 2 * c["kv_heads"]) * D
    wide = 2 * ff if c["activation"] == "swiglu" else ff
    s = {"embedding.weight": (V, W)}

    def add_norm(name):
        s[name + ".weight"] = (W,)
        if c["norm"] == "layer":
            s[name + ".bias"] = (W,)

    def add_linear(name, out, inputs, bias):
        s[name + ".weight"] = (out, inputs)
        if bias:
            s[name + ".bias"] = (out,)

    for n in range(c["layers"]):
        at = f"layers.{n}."
        add_norm(at + "attention_norm")
        add_linear(at + "attention.qkv", qkv, W, c["attention_bias"])
        if c["qk_norm"] != "off":
            s[at + "attention.q_norm.weight"] = s[at + "attention.k_norm.weight"] = (D,)
        add_linear(at + "attention.out", W, W, c["attention_bias"])
        add_norm(at + "mlp_norm")
        add_linear(at + "mlp.in", wide, W, c["mlp_bias"])
        add_linear(at + "mlp.down", W, ff, c["mlp_bias"])
    add_norm("norm")
    if not c["tied"]:
        s["head.weight"] = (c["classes"], W)
    if c["head_bias"]:
        s["head.bias"] = (c["classes"],)
    if c["encoding"] == "learned":
        s["encoding.table"] = (c["length"], W)
    return s


def decays(name, shape):
    return len(shape) == 2 and not name.startswith("encoding.")


def make(name, c, folder):
    generator = torch.Generator().manual_seed(7)
    p = {}
    for n, shape in shapes(c).items():
        scale, shift = (0.1, 1.0) if n.endswith("norm.weight") else (0.3, 0.0)
        value = shift + scale * torch.randn(shape, generator=generator)
        p[n] = value.float().double().requires_grad_()  # exact in fp32 too
    B, T = 3, c["length"]
    tokens = torch.randint(0, c["vocabulary"], (B, T), generator=generator)
    targets = torch.randint(0, c["classes"], (B, T), generator=generator)
    targets[torch.rand(B, T, generator=generator) < 0.25] = -1

    def loss():
        return F.cross_entropy(logits(c, p, tokens).flatten(0, 1), targets.flatten(), ignore_index=-1)

    out = {"start." + n: v.detach().clone() for n, v in p.items()}
    loss().backward()
    out.update({"gradient." + n: v.grad.clone() for n, v in p.items()})
    groups = [{"params": [v for n, v in p.items() if decays(n, v.shape)], "weight_decay": 0.1},
              {"params": [v for n, v in p.items() if not decays(n, v.shape)], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-2, betas=(0.9, 0.95), eps=1e-8)
    losses, norms = [], []
    for _ in range(10):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        # by hand: clip_grad_norm_ divides by the norm plus 1e-6
        total = math.sqrt(sum(float(v.grad.pow(2).sum()) for v in p.values()))
        for v in p.values():
            v.grad *= min(1, 0.5 / total)
        norms.append(total)
        losses.append(float(value))
        optimizer.step()
    out.update({"end." + n: v.detach() for n, v in p.items()})
    meta = dict(config=c, tokens=tokens.flatten().tolist(), targets=targets.flatten().tolist(),
                losses=losses, norms=norms, lr=1e-2, beta1=0.9, beta2=0.95, eps=1e-8,
                weight_decay=0.1, clip=0.5)
    write_safetensors(f"{folder}/{name}.safetensors", out, {"vectors": json.dumps(meta)})


BASE = dict(width=16, layers=2, heads=4, kv_heads=4, ff_width=24, vocabulary=11, classes=11, length=9,
            norm="rms", eps=1e-5, activation="swiglu", qk_norm="off", tied=True, parallel=False,
            attention_bias=False, mlp_bias=False, head_bias=False, encoding="rope")
CONFIGS = {
    "llama_rope": BASE,
    "gpt_learned": dict(BASE, norm="layer", activation="gelu", tied=False, attention_bias=True,
                        mlp_bias=True, head_bias=True, encoding="learned"),
    "pythia_none": dict(BASE, norm="layer", activation="gelu", tied=False, parallel=True,
                        attention_bias=True, mlp_bias=True, encoding="none"),
    "grouped_alibi": dict(BASE, kv_heads=2, qk_norm="before", encoding="alibi"),
    "explorer_rope": dict(BASE, qk_norm="after", encoding="rope"),
    "classifier_none": dict(BASE, tied=False, classes=3, mlp_bias=True, head_bias=True,
                            encoding="none"),
}

if __name__ == "__main__":
    for name, config in CONFIGS.items():
        make(name, config, sys.argv[1])
