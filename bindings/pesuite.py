"""Encodings and tasks of pesuite's libraries, in PyTorch.

One file without a build: it loads the same shared libraries (NAME.plugin.so) that the suite runner
does, gives their hooks ops of PyTorch, and so has PyTorch's gradients, devices and optimizers.

    import pesuite, torch
    pe = pesuite.Encoding("yarn(factor=4)", heads=8, head_dim=64, layers=6, train_length=512)
    pe.begin(x)                                   # once a forward pass; x is [B, T, W]
    x = pe.embed(x)                               # absolute encodings act here
    y = pe.attention(q, k, v, layer=0, x=h)       # causal; q, k, v are [B, H, T, D]

What is written here follows core/include/pesuite/pesuite.h, the specification (ABI 1.7). Letters as
there: B batch, H query heads, G key-value heads, T length, D head size, W width of the model.
"""

import ctypes as C
import math
import numbers
import operator
import os
import pathlib
import re

import torch

__all__ = ["Encoding", "Error", "Task", "encodings", "tasks"]

MAJOR, MINOR, MAX_RANK, ERROR_SIZE = 1, 7, 4, 512


class Error(Exception):
    """A sentence: what, why, what to do."""


# -------------------------------------------------------------------------- the header's structs

_Tensor = C.c_uint32  # a struct of one uint32_t, which crosses the line as that number
_Ctx = C.c_void_p
_Shape = C.POINTER(C.c_int64)


def _struct(name, *fields):
    made = type(name, (C.Structure,), {"_fields_": [("size", C.c_size_t), *fields]})
    made.has = lambda self, field: self.size >= (
        getattr(made, field).offset + getattr(made, field).size)
    return made


_Option = _struct("pes_option", ("name", C.c_char_p), ("value", C.c_char_p), ("help", C.c_char_p),
                  ("type", C.c_int), ("low", C.c_double), ("high", C.c_double),
                  ("choices", C.c_char_p))
_Card = _struct("pes_card", *((n, C.c_char_p) for n in (
    "name", "summary", "version", "taxonomy", "used_in", "paper", "bibtex")),
    ("claims", C.c_uint32), ("options", C.POINTER(C.POINTER(_Option))),
    *((n, C.c_char_p) for n in ("cost", "rating", "extension", "extends", "use_if")),
    ("uses", C.c_uint32), ("tune", C.c_char_p))
_Model = _struct("pes_model", *((n, C.c_int32) for n in (
    "layers", "heads", "kv_heads", "head_dim", "width", "train_length", "max_length")),
    ("unused", C.c_uint32), ("positions", C.c_int32))
_Param = _struct("pes_param", ("name", C.c_char_p), ("rank", C.c_int32),
                 ("shape", C.c_int64 * MAX_RANK), ("decay", C.c_bool),
                 ("low", C.c_double), ("high", C.c_double))
_Created = _struct("pes_created", ("self", C.c_void_p), ("params", C.POINTER(C.POINTER(_Param))))

_OPS = (  # name, what comes back, what goes in behind the context
    ("fail", None, C.c_char_p),
    ("shape", C.c_int, _Tensor, _Shape),
    ("upload", _Tensor, C.c_int, _Shape, C.POINTER(C.c_double)),
    ("unary", _Tensor, C.c_int, _Tensor),
    ("binary", _Tensor, C.c_int, _Tensor, _Tensor),
    ("affine", _Tensor, _Tensor, C.c_double, C.c_double),
    ("matmul", _Tensor, _Tensor, _Tensor, C.c_bool),
    ("sum", _Tensor, _Tensor, C.c_int),
    ("cumsum", _Tensor, _Tensor, C.c_int, C.c_bool),
    ("reshape", _Tensor, _Tensor, C.c_int, _Shape),
    ("permute", _Tensor, _Tensor, C.POINTER(C.c_int)),
    ("slice", _Tensor, _Tensor, C.c_int, C.c_int64, C.c_int64),
    ("concat", _Tensor, _Tensor, _Tensor, C.c_int),
    ("take", _Tensor, _Tensor, _Tensor),
    ("rows", _Tensor, _Tensor, _Tensor),
    ("rotate", _Tensor, _Tensor, _Tensor, _Tensor, C.c_int),
    ("interpolate", _Tensor, _Tensor, _Tensor))
_OP_TYPES = {name: C.CFUNCTYPE(back, _Ctx, *arguments) for name, back, *arguments in _OPS}
_Extension = C.CFUNCTYPE(C.c_void_p, C.c_char_p, C.c_uint32)
_Ops = _struct("pes_ops", *_OP_TYPES.items(), ("extension", _Extension))
_Say = C.CFUNCTYPE(None, _Ctx, C.c_char_p)
_Log = _struct("pes_log", ("say", _Say))

_Step = _struct("pes_step", ("ctx", _Ctx), ("ops", C.POINTER(_Ops)), ("params", C.POINTER(_Tensor)),
                ("phase", C.c_int), ("step", C.c_int64), ("steps", C.c_int64), ("seed", C.c_uint64),
                ("batch", C.c_int32), ("length", C.c_int32), ("offset", C.c_int32),
                ("unused", C.c_uint32), ("positions", _Tensor))
_Attention = _struct("pes_attention", ("layer", C.c_int32), ("x", _Tensor), ("q", _Tensor),
                     ("k", _Tensor), ("scale", C.c_double), ("distance", _Tensor),
                     ("bias", _Tensor), ("rewrite", C.c_bool))
_Scores = _struct("pes_scores", ("layer", C.c_int32), ("first", C.c_int32), ("x", _Tensor),
                  ("q", _Tensor), ("k", _Tensor), ("visible", _Tensor), ("scale", C.c_double),
                  ("scores", _Tensor), ("unused", C.c_uint32), ("v", _Tensor))
_Values = C.POINTER(C.c_char_p)
_Text = C.POINTER(C.c_char)
_Encoding = _struct(
    "pes_encoding", ("card", C.POINTER(_Card)),
    ("create", C.CFUNCTYPE(C.c_bool, C.POINTER(_Model), _Values, C.POINTER(_Created), _Text)),
    ("destroy", C.CFUNCTYPE(None, C.c_void_p)),
    ("init", C.CFUNCTYPE(None, C.c_void_p, C.c_int32, C.c_uint64, C.POINTER(C.c_float))),
    ("begin", C.CFUNCTYPE(None, C.c_void_p, C.POINTER(_Step))),
    ("embed", C.CFUNCTYPE(_Tensor, C.c_void_p, C.POINTER(_Step), _Tensor)),
    ("attend", C.CFUNCTYPE(None, C.c_void_p, C.POINTER(_Step), C.POINTER(_Attention))),
    ("rewrite", C.CFUNCTYPE(None, C.c_void_p, C.POINTER(_Step), C.POINTER(_Scores))),
    ("untrained", C.CFUNCTYPE(C.c_double, C.c_void_p, C.c_int32)),
    ("stale", C.CFUNCTYPE(C.c_bool, C.c_void_p, C.c_int32, C.c_int32)))

_Use = _struct("pes_use", *((n, C.c_int32) for n in ("train_length", "max_length", "reach")))
_Axis = _struct("pes_axis", ("name", C.c_char_p), ("unit", C.c_char_p), ("help", C.c_char_p),
                ("values", C.POINTER(C.c_double)), ("labels", C.POINTER(C.c_char_p)),
                ("count", C.c_int32), ("trained", C.c_int32))
_TaskCreated = _struct(
    "pes_task_created", ("self", C.c_void_p), ("inputs", C.c_int32), ("outputs", C.c_int32),
    ("head", C.c_int), ("document", C.c_int64), ("documents", C.c_int64 * 3),
    ("token_bytes", C.POINTER(C.c_int32)), ("digest", C.c_char_p), ("note", C.c_char_p),
    ("axes", C.POINTER(C.POINTER(_Axis))), ("shortcuts", C.c_void_p),
    ("candidate_first", C.c_int32), ("candidates", C.c_int32), ("positions", C.c_int32),
    ("unused", C.c_uint32), ("candidate_tokens", C.POINTER(C.c_int32)),
    ("separated", C.c_int32), ("separator", C.c_int32))
_Request = _struct("pes_request", ("split", C.c_int), ("seed", C.c_uint64), ("index", C.c_uint64),
                   ("length", C.c_int32), ("start", C.c_int64), ("axes", C.POINTER(C.c_double)))
_Ints = C.POINTER(C.c_int32)
_Example = _struct("pes_example", ("tokens", _Ints), ("targets", _Ints),
                   ("optimum", C.POINTER(C.c_double)), ("positions", _Ints), ("distances", _Ints))
_Task = _struct(
    "pes_task", ("card", C.POINTER(_Card)),
    ("create", C.CFUNCTYPE(C.c_bool, C.POINTER(_Use), _Values, C.POINTER(_TaskCreated), _Text)),
    ("destroy", C.CFUNCTYPE(None, C.c_void_p)),
    ("sample", C.CFUNCTYPE(C.c_bool, C.c_void_p, C.POINTER(_Request), C.POINTER(_Example), _Text)),
    # not called from here
    *((n, C.c_void_p) for n in ("oracle", "chance", "distinct", "chance_at", "predict")))
_Library = _struct("pes_library", ("abi_major", C.c_uint32), ("abi_minor", C.c_uint32),
                   ("name", C.c_char_p), ("version", C.c_char_p), ("licence", C.c_char_p),
                   ("encodings", C.POINTER(C.POINTER(_Encoding))),
                   ("tasks", C.POINTER(C.POINTER(_Task))), ("needs_minor", C.c_uint32))


def _each(pointers):
    """What a list that ends with a null pointer points to."""
    i = 0
    while pointers and pointers[i]:
        yield pointers[i].contents
        i += 1


# -------------------------------------------------------------------------------------- libraries

_loaded = {}  # by path


def _library(path):
    if path not in _loaded:
        try:
            entry = _Library.in_dll(C.CDLL(str(path)), "pes_entry")
        except (OSError, ValueError) as e:
            raise Error(f"{path}: no library of encodings or tasks: {e}") from None
        needed = entry.needs_minor if entry.has("needs_minor") else 0
        if entry.abi_major != MAJOR or needed > MINOR:
            raise Error(f"{path}: wants ABI {entry.abi_major}.{needed}, and this file knows "
                        f"{MAJOR}.{MINOR}")
        _loaded[path] = entry
    return _loaded[path]


def _libraries(plugin_path):
    """In the program's order: what is given, PESUITE_PLUGIN_PATH, a build tree, an install."""
    here = pathlib.Path(__file__).resolve().parent
    if plugin_path and not os.path.exists(plugin_path):
        raise Error(f"plugin_path {os.fspath(plugin_path)} is not there")
    places = ([os.fspath(plugin_path)] if plugin_path else [])
    places += os.environ.get("PESUITE_PLUGIN_PATH", "").split(":")
    places += [here.parent / "build" / "plugins",  # beside the sources
               here.parents[2] / "lib" / "pesuite" / "plugins",  # from share/pesuite/python
               "/usr/local/lib/pesuite/plugins", "/usr/lib/pesuite/plugins"]
    for place in (pathlib.Path(p) for p in places if os.fspath(p)):
        for file in [place] if place.is_file() else sorted(place.glob("*.plugin.so")):
            yield _library(file)


def _find(kind, name, plugin_path):
    seen = []
    for library in _libraries(plugin_path):
        for one in _each(getattr(library, kind)):
            seen.append(one.card.contents.name.decode())
            if seen[-1] == name:
                return one
    if not seen:
        raise Error(f"no {kind} at all: say plugin_path, or set PESUITE_PLUGIN_PATH, to the folder "
                    "of the *.plugin.so files, as build/plugins")
    raise Error(f"no '{name}' among the {kind}: {', '.join(sorted(set(seen)))}")


def _text(t):
    return t.decode() if t else ""


def _counted(name, value, least=1, most=2**31 - 1):
    """The number that crosses the line, whose type holds no others."""
    try:
        number = operator.index(value)
    except TypeError:
        raise Error(f"{name} is {value!r}, and has to be a whole number") from None
    if not least <= number <= most:
        raise Error(f"{name} is {number}, and goes from {least} to {most}")
    return number


def _parsed(text):
    """'name(option=value, ...)', as a suite writes it: the name, {option: value}."""
    whole = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", text, re.S)
    if not whole:
        raise Error(f"'{text}' is no NAME or NAME(option=value, ...)")
    options, inside, at = {}, whole[2] or "", 0
    value = r"""'[^']*'|"[^"]*"|\[[^\]]*\]|[^,'"\[\]]+"""
    pair = re.compile(rf"\s*(\w+)\s*=\s*({value})\s*(?:,|$)")
    while inside[at:].strip():
        m = pair.match(inside, at)
        if not m:
            raise Error(f"'{text}': '{inside[at:].strip()}' is no option=value")
        options[m[1]], at = m[2].strip().strip("'\""), m.end()
    return whole[1], options


def _cards(kind, plugin_path):
    cards = {}
    for library in _libraries(plugin_path):
        for one in _each(getattr(library, kind)):
            c = one.card.contents
            cards.setdefault(_text(c.name), {
                "summary": _text(c.summary), "taxonomy": _text(c.taxonomy), "paper": _text(c.paper),
                "options": {_text(o.name): (_text(o.value), _text(o.help))
                            for o in _each(c.options)}})
    return cards


def encodings(plugin_path=None):
    """Every encoding: {name: {summary, taxonomy, paper, options {name: (default, help)}}}."""
    return _cards("encodings", plugin_path)


def tasks(plugin_path=None):
    """Every task, as encodings()."""
    return _cards("tasks", plugin_path)


def _checked(option, value):
    """The text of an option's value, which hooks take as checked."""
    name, kind = _text(option.name), option.type
    wanted = ("true or false", "a whole number", "a number", "text", "one of its choices",
              "a list of numbers")[kind]
    refused = Error(f"option '{name}' is {value!r}, and has to be {wanted}: {_text(option.help)}")

    def number(x):
        try:
            n = float(x)
        except (TypeError, ValueError):
            raise refused from None
        if math.isnan(n) or not option.low <= n <= option.high:
            raise Error(f"option '{name}' is {x}, and goes from {option.low:g} to {option.high:g}")
        return "inf" if math.isinf(n) else repr(n)

    if kind == 0:
        text = str(value).lower()
        if text not in ("true", "false"):
            raise refused
        return text
    if kind == 1:
        if isinstance(value, bool) or float(number(value)) != int(float(value)):
            raise refused
        return str(int(float(value)))
    if kind == 2:
        return number(value)
    if kind == 4:
        if str(value) not in _text(option.choices).split("|"):
            raise Error(f"option '{name}' is '{value}'; it is one of {_text(option.choices)}")
        return str(value)
    if kind == 5:
        if isinstance(value, str):
            value = [x for x in value.strip("[] ").split(",") if x.strip()]
        return "[" + ", ".join(number(x) for x in value) + "]"
    return str(value)


def _values(card, given):
    options = list(_each(card.options))
    unknown = set(given) - {_text(o.name) for o in options}
    if unknown:
        raise Error(f"'{_text(card.name)}' has no option '{sorted(unknown)[0]}'; it has "
                    f"{', '.join(_text(o.name) for o in options) or 'none'}")
    texts = [_checked(o, given[_text(o.name)]) if _text(o.name) in given else _text(o.value)
             for o in options]
    return (C.c_char_p * (len(texts) + 1))(*(t.encode() for t in texts), None)


# --------------------------------------------------------------------------------------------- ops

_UNARY = (torch.exp, torch.log, torch.sin, torch.cos, torch.tanh, torch.sigmoid,
          lambda x: torch.logaddexp(x, torch.zeros_like(x)),
          lambda x: torch.where(x > 0, x, torch.zeros_like(x)), torch.abs,
          # gradient 0 at 0
          lambda x: torch.where(x == 0, torch.zeros_like(x),
                                torch.sqrt(torch.where(x == 0, torch.ones_like(x), x))),
          torch.floor)
# at a tie the gradient goes to the first argument
_BINARY = (torch.add, torch.sub, torch.mul, torch.div, lambda a, b: torch.where(a <= b, a, b),
           lambda a, b: torch.where(a >= b, a, b))


def _whole(index, extent):
    """Indices, rounded; outside of 0 .. extent - 1 they are refused."""
    i = index.detach().round().long()
    if i.numel() and (int(i.min()) < 0 or int(i.max()) >= extent):
        raise Error(f"an index from {int(i.min())} to {int(i.max())} into {extent} entries")
    return i


def _gather(x, index):
    """out[.., j] = x[.., index[.., j]], leading axes broadcast."""
    lead = torch.broadcast_shapes(x.shape[:-1], index.shape[:-1])
    return torch.gather(x.expand(*lead, x.shape[-1]), -1, index.expand(*lead, index.shape[-1]))


def _interpolate(x, position):
    last = x.shape[-1] - 1
    p = position.clamp(0, last)
    n = p.detach().floor().long()
    low, high = _gather(x, n), _gather(x, (n + 1).clamp(max=last))
    return low + (p - n) * (high - low)


def _rotate(x, cos, sin, pairs):
    n = cos.shape[-1]
    turned, rest = x[..., :2 * n], x[..., 2 * n:]
    if pairs == 0:
        a, b = turned[..., :n], turned[..., n:]
    else:
        a, b = turned[..., 0::2], turned[..., 1::2]
    a, b = a * cos - b * sin, b * cos + a * sin
    if pairs == 0:
        return torch.cat([a, b, rest.expand(*a.shape[:-1], -1)], -1)
    return torch.cat([torch.stack([a, b], -1).flatten(-2), rest.expand(*a.shape[:-1], -1)], -1)


class _Host:
    """The op table of one encoding: handles of a step are places in a list of tensors."""

    def __init__(self):
        self.dtype, self.device, self.error = torch.float32, None, None
        self.tensors = [None]  # 0 is the null handle
        self.table = _Ops(C.sizeof(_Ops))
        for name, _, *_ in _OPS:
            setattr(self.table, name, _OP_TYPES[name](self._guarded(getattr(self, "op_" + name))))
        self.log = _Log(C.sizeof(_Log), _Say(lambda _, said: print("pesuite:", _text(said))))
        self.table.extension = _Extension(
            lambda name, revision: C.addressof(self.log) if (name, revision) == (b"log", 1)
            else None)

    def _guarded(self, op):
        def run(_, *arguments):
            try:
                return op(*arguments)
            except Exception as e:  # nothing is thrown across the line
                self.error = self.error or e
                return 0
        return run

    def lend(self, tensor):
        if tensor is None:
            return 0
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def made(self, function, *handles):
        """A handle of what a function of tensors gives."""
        given = [self.tensors[h] for h in handles]
        if any(t is None for t in given):
            raise Error("it computes with what is not there; does it want x, the layer's input?")
        return self.lend(function(*given))

    def op_fail(self, message):
        raise Error(_text(message) or "no reason given")

    def op_shape(self, x, out):
        if self.tensors[x] is None:
            return -1
        for i, extent in enumerate(self.tensors[x].shape):
            out[i] = extent
        return self.tensors[x].dim()

    def op_upload(self, rank, shape, data):
        extents = [shape[i] for i in range(rank)]
        count = math.prod(extents)
        flat = torch.frombuffer((C.c_double * count).from_address(C.addressof(data.contents)),
                                dtype=torch.float64)
        return self.lend(flat.to(device=self.device, dtype=self.dtype, copy=True).reshape(extents))

    def op_unary(self, op, x):
        return self.made(_UNARY[op], x)

    def op_binary(self, op, a, b):
        return self.made(_BINARY[op], a, b)

    def op_affine(self, x, scale, shift):
        return self.made(lambda t: t * scale + shift, x)

    def op_matmul(self, a, b, transpose_b):
        return self.made(lambda m, n: m @ (n.transpose(-1, -2) if transpose_b else n), a, b)

    def op_sum(self, x, axis):
        return self.made(lambda t: t.sum(axis, keepdim=True), x)

    def op_cumsum(self, x, axis, reverse):
        return self.made(lambda t: t.flip(axis).cumsum(axis).flip(axis) if reverse
                         else t.cumsum(axis), x)

    def op_reshape(self, x, rank, shape):
        return self.made(lambda t: t.reshape([shape[i] for i in range(rank)]), x)

    def op_permute(self, x, axes):
        return self.made(lambda t: t.permute([axes[i] for i in range(t.dim())]), x)

    def op_slice(self, x, axis, start, length):
        return self.made(lambda t: t.narrow(axis, start, length), x)

    def op_concat(self, a, b, axis):
        return self.made(lambda s, t: torch.cat([s, t], axis), a, b)

    def op_take(self, x, index):
        return self.made(lambda t, i: _gather(t, _whole(i, t.shape[-1])), x, index)

    def op_rows(self, x, index):
        return self.made(lambda t, i: t[_whole(i, t.shape[0])], x, index)

    def op_rotate(self, x, cos, sin, pairs):
        return self.made(lambda t, c, s: _rotate(t, c, s, pairs), x, cos, sin)

    def op_interpolate(self, x, position):
        return self.made(_interpolate, x, position)


# ---------------------------------------------------------------------------------------- encodings


class Encoding(torch.nn.Module):
    """A positional encoding for a causal decoder.

    expression    "NAME" or "NAME(option=value, ...)": `pesuite list encoding`,
                  `pesuite info encoding NAME`, or encodings()
    heads         H; kv_heads G: as many where it is not given
    head_dim      D; width W: heads x head_dim where it is not given
    layers        that share the encoding and its parameters, or each have tables: it decides
    train_length  tokens of training: what is stretched, and what "beyond" means; max_length at most
    positions     that a task gives its tokens; 0: they stand at their places
    seed          of its parameters' start values

    Its parameters are parameters of the module. Hooks compute in float32 at least.
    Error where the encoding refuses: the sentence says why.
    """

    def __init__(self, expression, *, heads, head_dim, layers=1, kv_heads=None, width=None,
                 train_length=2048, max_length=None, positions=0, seed=0, plugin_path=None):
        super().__init__()
        self._made_with = dict(heads=heads, head_dim=head_dim, layers=layers, kv_heads=kv_heads,
                               width=width, train_length=train_length, max_length=max_length,
                               positions=positions, seed=seed, plugin_path=plugin_path)
        self.expression = expression
        name, options = _parsed(expression)
        self.name = name
        self._hooks = _find("encodings", name, plugin_path)
        self._host, self._step, self._self = _Host(), None, None
        card = self._hooks.card.contents
        sizes = dict(layers=layers, heads=heads, kv_heads=heads if kv_heads is None else kv_heads,
                     head_dim=head_dim, width=width, train_length=train_length,
                     max_length=train_length if max_length is None else max_length)
        if width is None:
            sizes["width"] = _counted("heads", heads) * _counted("head_dim", head_dim)
        sizes = {name: _counted(name, value) for name, value in sizes.items()}
        if sizes["heads"] % sizes["kv_heads"]:
            raise Error("kv_heads is {kv_heads}, and has to divide heads, {heads}".format(**sizes))
        if sizes["max_length"] < sizes["train_length"]:
            raise Error("max_length is {max_length}, below train_length, {train_length}"
                        .format(**sizes))
        self._sizes = sizes
        model = _Model(C.sizeof(_Model), *sizes.values(), 0, _counted("positions", positions, 0))
        seed = _counted("seed", seed, 0, 2**63 - 1)
        created = _Created(C.sizeof(_Created))
        error = C.create_string_buffer(ERROR_SIZE)
        if not self._hooks.create(C.byref(model), _values(card, options), C.byref(created), error):
            raise Error(f"encoding '{name}': {_text(error.value) or 'no reason given'}")
        self._self = created.self
        self._bounds = []
        for i, p in enumerate(_each(created.params)):
            shape = [p.shape[a] for a in range(p.rank)]
            start = (C.c_float * math.prod(shape))()
            self._hooks.init(self._self, i, seed, start)
            self.register_parameter(_text(p.name), torch.nn.Parameter(
                torch.tensor(list(start), dtype=torch.float32).reshape(shape)))
            bounded = p.has("high") and p.low < p.high
            self._bounds.append((_text(p.name), p.low, p.high) if bounded else (_text(p.name),))

    def __del__(self):
        if getattr(self, "_self", None):
            self._hooks.destroy(self._self)

    def __reduce__(self):  # a copy is made anew, with these parameters
        return _made_again, (self.expression, self._made_with, dict(self.named_parameters()),
                             self.training)

    def extra_repr(self):
        return self.expression

    def _after(self, hook):
        error, self._host.error = self._host.error, None
        if error is not None:
            raise Error(f"encoding '{self.name}', {hook}: {error}") from error

    def begin(self, like, *, offset=0, step=0, steps=0, seed=None, positions=None):
        """Starts a forward pass, in training where the module is.

        like       [B, T, ...]: gives batch, length, device and dtype
        offset     position of the first token, behind cached keys
        seed       of what is drawn in training; torch's generator gives it where it is not given
        positions  [B, T], where a task says that tokens stand
        """
        if like.dim() < 2:
            raise Error(f"begin: like is {[*like.shape]}, and has to be [B, T, ...]")
        host = self._host
        host.device = like.device
        host.dtype = like.dtype if like.dtype == torch.float64 else torch.float32
        host.tensors = [None]
        handles = []
        for name, *bounds in self._bounds:
            p = getattr(self, name)
            if bounds:
                with torch.no_grad():
                    p.clamp_(*bounds)
            handles.append(host.lend(p.to(host.dtype)))
        if seed is None:
            seed = int(torch.randint(2**62, ())) if self.training else 0
        self._handles = (C.c_uint32 * max(1, len(handles)))(*handles)
        self._step = _Step(
            C.sizeof(_Step), 1, C.pointer(host.table),
            C.cast(self._handles, C.POINTER(_Tensor)), 0 if self.training else 1, step, steps, seed,
            like.shape[0], like.shape[1], offset, 0,
            host.lend(None if positions is None else positions.to(host.dtype)))
        if self._hooks.begin:
            self._hooks.begin(self._self, C.byref(self._step))
            self._after("begin")
        self._made = len(host.tensors)  # what other hooks make is theirs alone
        return self

    def _require_step(self):
        if self._step is None:
            raise Error(f"encoding '{self.name}': begin() starts each forward pass")

    def _require(self, hook, **tensors):
        """That tensors have the shapes that begin() and the model's sizes give; None: any size."""
        step, sizes = self._step, self._sizes
        known = dict(B=step.batch, T=step.length, H=sizes["heads"], G=sizes["kv_heads"],
                     D=sizes["head_dim"], W=sizes["width"], E=None)
        for name, (t, letters) in tensors.items():
            wanted = [known[l] for l in letters]
            if not t.is_floating_point():
                raise Error(f"encoding '{self.name}', {hook}: {name} is of {t.dtype}, and has to "
                            "be of a floating-point type")
            if len(wanted) != t.dim() or any(w not in (None, n) for w, n in zip(wanted, t.shape)):
                text = ", ".join(l if w is None else f"{l}={w}" for l, w in zip(letters, wanted))
                raise Error(f"encoding '{self.name}', {hook}: {name} is {[*t.shape]}, and has to "
                            f"be [{text}]; B and T are those of begin()")

    def embed(self, x):
        """The token embeddings [B, T, W], with what the encoding adds to them."""
        self._require_step()
        self._require("embed", x=(x, "BTW"))
        if not self._hooks.embed:
            return x
        host = self._host
        y = self._hooks.embed(self._self, C.byref(self._step), host.lend(x.to(host.dtype)))
        self._after("embed")
        if not y:
            raise Error(f"encoding '{self.name}', embed: it returned nothing")
        embedded = host.tensors[y].to(x.dtype)
        del host.tensors[self._made:]
        return embedded

    def attention(self, q, k, v, *, layer=0, x=None):
        """Causal attention with the encoding: [B, H, T, E] of q [B, H, T, D], k [B, G, T, D] and
        v [B, G, T, E]. x [B, T, W] is the layer's normalized input, which some encodings read."""
        self._require_step()
        self._require("attention", q=(q, "BHTD"), k=(k, "BGTD"), v=(v, "BGTE"),
                      **({} if x is None else {"x": (x, "BTW")}))
        mixed = self._mixed(q, k, v, _counted("layer", layer, 0, self._sizes["layers"] - 1), x)
        del self._host.tensors[self._made:]
        return mixed

    def _mixed(self, q, k, v, layer, x):
        host, dtype = self._host, q.dtype
        q, k, v = (t.to(host.dtype) for t in (q, k, v))
        x = None if x is None else x.to(host.dtype)
        a = _Attention(C.sizeof(_Attention), layer, host.lend(x), host.lend(q), host.lend(k),
                       1 / math.sqrt(q.shape[-1]), 0, 0, False)
        if self._hooks.attend:
            self._hooks.attend(self._self, C.byref(self._step), C.byref(a))
            self._after(f"attend, layer {layer}")
            q, k = host.tensors[a.q], host.tensors[a.k]
            if q is None or k is None:
                raise Error(f"encoding '{self.name}', attend: it left no q or k")
        shared, T = q.shape[1] // k.shape[1], q.shape[2]
        keys, values = (t.repeat_interleave(shared, 1) if shared > 1 else t for t in (k, v))
        plain = not (a.distance or a.bias or a.rewrite)
        if plain and hasattr(torch.nn.functional, "scaled_dot_product_attention"):
            q = q * (a.scale * math.sqrt(q.shape[-1]))
            return torch.nn.functional.scaled_dot_product_attention(
                q, keys, values, is_causal=True).to(dtype)
        place = torch.arange(T, device=q.device)
        apart = place[:, None] - place[None]
        scores = q @ keys.transpose(-1, -2) * a.scale
        if a.distance:
            scores = scores + host.tensors[a.distance][:, apart.clamp(min=0)]
        if a.bias:
            scores = scores + host.tensors[a.bias]
        if a.rewrite:
            scores = self._rewritten(a, layer, x, q, k, v, apart, scores)
        return (torch.softmax(scores.masked_fill(apart < 0, -math.inf), -1) @ values).to(dtype)

    def _rewritten(self, a, layer, x, q, k, v, apart, scores):
        host = self._host
        s = _Scores(C.sizeof(_Scores), layer, 0, host.lend(x), host.lend(q), host.lend(k),
                    host.lend((apart >= 0).to(host.dtype)), a.scale, host.lend(scores), 0,
                    host.lend(v))
        self._hooks.rewrite(self._self, C.byref(self._step), C.byref(s))
        self._after(f"rewrite, layer {layer}")
        if not s.scores:
            raise Error(f"encoding '{self.name}', rewrite: it left no scores")
        return host.tensors[s.scores]

    def untrained(self, length):
        """Share (0 to 1) of positions or distances at `length` whose parameters training never
        reached."""
        has = self._hooks.has("untrained") and self._hooks.untrained
        return self._hooks.untrained(self._self, length) if has else 0.0

    def stale(self, start, end):
        """Whether what it does to the first `start` tokens changes when a sequence grows to `end`,
        so that cached keys are of no use."""
        has = self._hooks.has("stale") and self._hooks.stale
        return bool(has and self._hooks.stale(self._self, start, end))


def _made_again(expression, made_with, parameters, training):
    e = Encoding(expression, **made_with)
    for name, p in parameters.items():
        e.register_parameter(name, p)
    return e.train(training)


# -------------------------------------------------------------------------------------------- tasks


class Task:
    """A task or corpus: examples that follow from a split, a seed and an index.

    expression                "NAME" or "NAME(option=value, ...)": `pesuite info task NAME`, tasks()
    train_length, max_length  longest sequence of training, and of anything
    reach                     corpora: tokens of a document that windows reach

    inputs and outputs are alphabet sizes; head is "lm" (targets are the next tokens), "tag" (a
    class for each position) or "cls" (one at the last); axes are {name: values}. Error with a
    sentence.
    """

    def __init__(self, expression, *, train_length, max_length=None, reach=None, plugin_path=None):
        name, options = _parsed(expression)
        self.name = name
        self._hooks, self._self = _find("tasks", name, plugin_path), None
        train_length = _counted("train_length", train_length)
        self._longest = _counted("max_length", train_length if max_length is None else max_length,
                                 train_length)
        use = _Use(C.sizeof(_Use), train_length, self._longest,
                   _counted("reach", self._longest if reach is None else reach))
        self._made = _TaskCreated(C.sizeof(_TaskCreated))
        error = C.create_string_buffer(ERROR_SIZE)
        if not self._hooks.create(C.byref(use), _values(self._hooks.card.contents, options),
                                  C.byref(self._made), error):
            raise Error(f"task '{name}': {_text(error.value) or 'no reason given'}")
        self._self = self._made.self
        self.inputs, self.outputs = self._made.inputs, self._made.outputs
        self.head = ("lm", "tag", "cls")[self._made.head]
        self.axes = {_text(a.name): [a.values[i] for i in range(a.count)]
                     for a in _each(self._made.axes)}

    def __del__(self):
        if getattr(self, "_self", None):
            self._hooks.destroy(self._self)

    def example(self, index, length, *, split="train", seed=0, start=-1, **axes):
        """{tokens, targets, optimum, positions, distances}, each [length]; split is "train",
        "validation" or "test". Targets of -1 are not scored; optimum is the best possible nats of
        each target (NaN: not known), distances how far back each answer stands (-1: not known);
        positions is None where tokens stand at their places. An axis that is not given is drawn."""
        unknown = set(axes) - set(self.axes)
        if unknown:
            raise Error(f"task '{self.name}' has no axis '{sorted(unknown)[0]}'; it has "
                        f"{', '.join(self.axes) or 'none'}")
        splits = ("train", "validation", "test")
        if split not in splits:
            raise Error(f"split is {split!r}; there are {', '.join(splits)}")
        length = _counted("length", length, 1, self._longest)
        index, seed = _counted("index", index, 0, 2**63 - 1), _counted("seed", seed, 0, 2**63 - 1)
        for name, value in axes.items():
            if not isinstance(value, numbers.Real):
                raise Error(f"task '{self.name}': axis {name} is {value!r}, and has to be a number")
        places = (C.c_double * max(1, len(self.axes)))(
            *(axes.get(name, math.nan) for name in self.axes))
        request = _Request(C.sizeof(_Request), splits.index(split), seed, index, length, start,
                           places)
        tokens, targets, positions = ((C.c_int32 * length)() for _ in range(3))
        distances = (C.c_int32 * length)(*[-1] * length)
        optimum = (C.c_double * length)(*[math.nan] * length)
        placed = self._made.positions > 0
        out = _Example(C.sizeof(_Example), tokens, targets, optimum, positions if placed else None,
                       distances)
        error = C.create_string_buffer(ERROR_SIZE)
        if not self._hooks.sample(self._self, C.byref(request), C.byref(out), error):
            raise Error(f"task '{self.name}': {_text(error.value)}")
        return {"tokens": torch.tensor(list(tokens)), "targets": torch.tensor(list(targets)),
                "optimum": torch.tensor(list(optimum), dtype=torch.float64),
                "positions": torch.tensor(list(positions)) if placed else None,
                "distances": torch.tensor(list(distances))}
