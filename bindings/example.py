"""A small PyTorch decoder with encodings and data of pesuite: trained at 64 tokens, read at 256.

    python3 bindings/example.py rope alibi 't5(buckets=16)'
"""

import sys

import torch
from torch import nn

import pesuite

WIDTH, HEADS, LAYERS, LENGTH, LONGER, BATCH, STEPS = 64, 4, 2, 64, 256, 16, 600


class Decoder(nn.Module):
    def __init__(self, encoding, vocabulary):
        super().__init__()
        self.encoding = pesuite.Encoding(encoding, heads=HEADS, head_dim=WIDTH // HEADS,
                                         layers=LAYERS, train_length=LENGTH, max_length=LONGER)
        self.table = nn.Embedding(vocabulary, WIDTH)
        nn.init.normal_(self.table.weight, std=0.02)
        self.layers = nn.ModuleList(nn.ModuleDict({
            "before": nn.LayerNorm(WIDTH), "qkv": nn.Linear(WIDTH, 3 * WIDTH, bias=False),
            "out": nn.Linear(WIDTH, WIDTH, bias=False), "behind": nn.LayerNorm(WIDTH),
            "mlp": nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                                 nn.Linear(4 * WIDTH, WIDTH))}) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens):  # [B, T] -> [B, T, V]
        B, T = tokens.shape
        x = self.table(tokens)
        self.encoding.begin(x)
        x = self.encoding.embed(x)
        for i, layer in enumerate(self.layers):
            h = layer["before"](x)
            q, k, v = layer["qkv"](h).view(B, T, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
            y = self.encoding.attention(q, k, v, layer=i, x=h)
            x = x + layer["out"](y.transpose(1, 2).reshape(B, T, WIDTH))
            x = x + layer["mlp"](layer["behind"](x))
        return self.norm(x) @ self.table.weight.T


def batch(task, first, length, split, last=None):
    """tokens, targets, optimum [B, T] of 16 examples; scored are the `last` tokens, or all."""
    rows = [task.example(first + i, length, split=split) for i in range(BATCH)]
    tokens, targets, optimum = (torch.stack([r[k] for r in rows]).to(t) for k, t in (
        ("tokens", torch.long), ("targets", torch.long), ("optimum", torch.float64)))
    if last:
        targets[:, :-last] = -1
    return tokens, targets, optimum


def trained(encoding, task):
    torch.manual_seed(1)
    model = Decoder(encoding, task.inputs)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, STEPS, pct_start=0.05)
    for step in range(STEPS):
        tokens, targets, _ = batch(task, step * BATCH, LENGTH, "train")
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(),
                                           ignore_index=-1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model.eval()


@torch.no_grad()
def regret(model, task, length):
    """Nats per token above the best possible loss, of the last 32 tokens."""
    tokens, targets, optimum = batch(task, 0, length, "test", last=32)
    scored = targets >= 0
    nats = nn.functional.cross_entropy(model(tokens)[scored], targets[scored])
    return float(nats - optimum[scored].mean())


def main():
    task = pesuite.Task("toylag", train_length=LENGTH, max_length=LONGER)
    for encoding in sys.argv[1:] or ["rope", "alibi"]:
        model = trained(encoding, task)
        print(encoding, *(f"{length} tokens: {regret(model, task, length):.3f} nats above optimum"
                          for length in (LENGTH, LONGER)), sep="\n  ")


if __name__ == "__main__":
    main()
