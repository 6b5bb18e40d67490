// Through a whole small model: what may not reach what.
#include <cmath>

#include "base/text.h"
#include "check/checks.h"
#include "model/cache.h"

namespace pesuite::checks {

namespace {

// Changes of outputs that rounding explains, in nats.
constexpr double rounding = 1e-9;

constexpr int batch = 2, length = 12;

ModelConfig small_config(const ModelShape& m) {
  ModelConfig c;
  c.width = m.heads * m.head_dim, c.layers = m.layers, c.heads = m.heads, c.kv_heads = m.kv_heads;
  c.ff_width = 2 * c.width;
  c.tied = false;         // so that only what was read has a gradient in the embedding
  c.init = Init::fan_in;  // weights of a size that lets every token be heard
  c.vocabulary = 2 * batch * length;
  return c;
}

Model small_model(const Subject& s, Backend& backend) {
  return {backend, small_config(s.model),
          Encoding(s.catalog, Expression{s.encoding.card->name, s.given}, s.model), 11};
}

// Moves parameters of the encoding off their start values, as draw_inputs() does.
void move_parameters(const Subject& s, Model& model) {
  const Instance instance(s.encoding, s.values, s.model);
  const Inputs in = draw_inputs(instance, 1, 1, 21);
  const std::size_t first = model.parameters().size() - in.parameters.size();
  for (std::size_t i = 0; i < in.parameters.size(); ++i) {
    const Parameter& p = model.parameters()[first + i];
    model.backend().upload({p.value, p.shape}, in.parameters[i].data.data());
  }
}

// Every place has a token of its own.
Batch distinct_tokens() {
  Batch b;
  b.size = batch, b.length = length;
  for (int i = 0; i < batch * length; ++i) {
    b.tokens.push_back(i);
    b.targets.push_back((7 * i + 3) % (2 * batch * length));
  }
  return b;
}

StepInfo info(bool training) {
  StepInfo s;
  s.training = training, s.steps = 10, s.step = 3, s.seed = 77;
  s.batch = batch, s.length = length;
  return s;
}

struct Change {
  double largest = 0;
  std::size_t place = 0;
};
// Over the places for which `watched` is true.
template <class Watched>
Change change(const Scores& before, const Scores& after, Watched watched) {
  Change c;
  for (std::size_t i = 0; i < before.nats.size(); ++i) {
    if (!watched(static_cast<int>(i) / length, static_cast<int>(i) % length)) continue;
    const double d = std::fabs(before.nats[i] - after.nats[i]);
    if (!(d <= c.largest)) c = {d, i};
  }
  return c;
}

void expect_causal_values(const Subject& s, Model& model, bool training) {
  const auto nats = [&](const Batch& b) {
    return training ? model.learn(b, info(true), 0) : model.score(b, info(false));
  };
  const Batch base = distinct_tokens();
  const Scores before = nats(base);
  for (const int at : {1, length / 2, length - 1}) {
    s.note.say(fmt::format("changing token {} of {}", at, length));
    Batch other = base;
    for (int row = 0; row < batch; ++row)
      other.tokens[static_cast<std::size_t>(row * length + at)] += batch * length;
    const Scores after = nats(other);
    const Change past = change(before, after, [&](int, int t) { return t < at; });
    require(past.largest <= rounding,
            "{}: another token at position {} changes the loss at position {} by {:.2g} nats",
            training ? "training" : "evaluation", at, past.place % length, past.largest);
    const Change own = change(before, after, [&](int, int t) { return t >= at; });
    require(own.largest > rounding, "another token at position {} changes nothing at all", at);
  }
}

// The gradient of the losses at positions up to `last` in the embedding of every later token.
void expect_causal_gradients(Model& model, Backend& backend) {
  for (const int last : {0, length / 2, length - 2}) {
    Batch b = distinct_tokens();
    for (int i = 0; i < batch * length; ++i)
      if (i % length > last) b.targets[static_cast<std::size_t>(i)] = -1;
    for (Parameter& p : model.parameters()) p.has_grad = false;
    model.learn(b, info(true), 1);
    const Parameter& table = model.parameters()[0];
    Values g{table.shape, std::vector<double>(static_cast<std::size_t>(table.shape.count()))};
    if (table.has_grad) backend.download(g.data.data(), View{table.grad, table.shape});
    const auto width = static_cast<std::size_t>(table.shape[1]);
    double heard = 0;
    for (int i = 0; i < batch * length; ++i)
      for (std::size_t w = 0; w < width; ++w) {
        const double d = std::fabs(g.data[static_cast<std::size_t>(i) * width + w]);
        if (i % length <= last)
          heard = std::max(heard, d);
        else
          require(
              d <= rounding,
              "the loss at positions up to {} has a gradient of {:.2g} in the token at position "
              "{}",
              last, d, i % length);
      }
    require(heard > rounding, "the loss at positions up to {} has no gradient in any token", last);
  }
}

// A block shows a row keys that it may not see: what they are must not tell in its scores.
void expect_causal_rewrite(const Subject& s, Backend& backend) {
  if (s.encoding.rewrite == nullptr) return;
  s.note.say("another last key of a block");
  Instance instance(s.encoding, s.values, s.model);
  Pass p;
  p.length = length;
  const Inputs in = draw_inputs(instance, p.batch, length, 3),
               fresh = draw_inputs(instance, p.batch, length, 4);
  Inputs other = in;
  const auto D = static_cast<std::size_t>(s.model.head_dim);
  for (std::size_t i = 0; i < in.k.data.size(); ++i)
    if (i / D % length == length - 1)
      other.k.data[i] = fresh.k.data[i], other.v.data[i] = fresh.v.data[i];
  const Outputs a = run(backend, instance, in, p, {.attention = false}),
                b = run(backend, instance, other, p, {.attention = false});
  for (std::size_t l = 0; l < a.layers.size(); ++l)
    for (std::size_t i = 0; i < a.layers[l].scores.data.size(); ++i) {
      const std::size_t row = i / length % length;
      const double d = std::fabs(a.layers[l].scores.data[i] - b.layers[l].scores.data[i]);
      require(row == length - 1 || !(d > rounding),
              "encoding '{}', hook rewrite, layer {}: another key at position {} changes the score "
              "of query {} and key {} by {:.2g}: multiply by c.visible what is summed over keys",
              s.encoding.card->name, l, length - 1, row, i % length, d);
    }
}

}  // namespace

std::string check_causal(const Subject& s) {
  const auto backend = open_backend("reference", {});
  expect_causal_rewrite(s, *backend);
  Model model = small_model(s, *backend);
  move_parameters(s, model);
  for (const bool training : {false, true}) expect_causal_values(s, model, training);
  s.note.say("gradients of earlier losses in later tokens");
  expect_causal_gradients(model, *backend);
  return fmt::format(
      "A model of {} layers, in double: later tokens change no earlier loss and get no gradient "
      "from one.",
      s.model.layers);
}

std::string check_batch(const Subject& s) {
  const auto backend = open_backend("reference", {});
  Model model = small_model(s, *backend);
  move_parameters(s, model);
  const Batch base = distinct_tokens();
  const Scores before = model.score(base, info(false));
  for (int changed = 0; changed < batch; ++changed) {
    Batch other = base;
    for (int t = 0; t < length; ++t)
      other.tokens[static_cast<std::size_t>(changed * length + t)] += batch * length;
    const Change c = change(before, model.score(other, info(false)),
                            [&](int row, int) { return row != changed; });
    require(
        c.largest <= rounding,
        "other tokens in sequence {} of the batch change the loss of sequence {} by {:.2g} nats",
        changed, c.place / length, c.largest);
  }
  return "Other tokens in one sequence of a batch change nothing of another.";
}

namespace {

// Logits behind the last token of each sequence, of one pass over tokens [batch, n].
std::vector<double> logits_of_pass(Model& model, const std::vector<std::int32_t>& tokens, int n) {
  Batch b;
  b.size = batch, b.length = n, b.tokens = tokens;
  b.targets.assign(tokens.size(), -1);
  for (int row = 0; row < batch; ++row) b.targets[static_cast<std::size_t>((row + 1) * n - 1)] = 0;
  StepInfo step;
  step.batch = batch, step.length = n;
  std::vector<double> out;
  Inspection look;
  look.logits = [&](const std::vector<double>& logits) { out = logits; };
  model.score(b, step, look);
  return out;
}

// Sequences that are read behind a cache, and others of another length beside them.
class BehindCaches {
 public:
  BehindCaches(Model& model, int longest)
      : model_(model), cache_(model, batch, longest), other_(model, batch, longest) {
    model.read(other_, tokens(0, 3));
  }
  static std::vector<std::int32_t> tokens(int from, int to) {
    std::vector<std::int32_t> out;
    for (int row = 0; row < batch; ++row)
      for (int t = from; t < to; ++t) out.push_back((7 * t + 5 * row * t + row) % (batch * length));
    return out;
  }
  // Logits behind all tokens up to `to`; beside the others, for one more.
  std::vector<double> read(int to, bool beside) {
    std::vector<std::int32_t> next = tokens(cache_.length(), to);
    if (!beside) return model_.read(cache_, next);
    const std::vector<std::int32_t> more = tokens(other_.length(), other_.length() + 1);
    next.insert(next.end(), more.begin(), more.end());
    Cache* const both[] = {&cache_, &other_};
    std::vector<double> logits = model_.read(both, next);
    logits.resize(logits.size() / 2);
    return logits;
  }
  int rereads() const { return cache_.rereads(); }

 private:
  Model& model_;
  Cache cache_, other_;
};

}  // namespace

std::string check_cached(const Subject& s) {
  try {
    check_offset(s);
  } catch (const Fault&) {
    skip("What 'offset' finds stands in the way.");
  } catch (const Skip&) {
  }
  const auto backend = open_backend("reference", {});
  Model model = small_model(s, *backend);
  move_parameters(s, model);
  const int train = s.model.train_length, longest = s.model.max_length;
  BehindCaches caches(model, longest);
  int at = 0;
  for (const int to : {1, 2, 9, train, train + 1, train + 8, longest - 1, longest}) {
    const bool beside = at > 0 && to == at + 1;
    const std::string how =
        beside ? " behind a cache, beside sequences of another length" : " behind a cache";
    s.note.say(fmt::format("tokens {} to {}{}", at, to, how));
    std::vector<double> whole;
    try {
      whole = logits_of_pass(model, BehindCaches::tokens(0, to), to);
    } catch (const Refusal& refusal) {  // a table that ends may say so
      if (to <= train) throw;
      return fmt::format("Equal up to {} tokens; declines {}: {}", at, to, refusal.what());
    }
    const std::vector<double> cached = caches.read(to, beside);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const double d = std::fabs(whole[i] - cached[i]);
      require(d <= rounding * s.tolerance,
              "a logit behind {} tokens differs by {:.2g} between one pass over all of them and "
              "one over the last {}{}: a hook counts from 0, or by s.length; or what it does to "
              "the first tokens changes with the length, which stale() has to tell{}",
              to, d, to - at, how,
              beside ? "; or what belongs to a pass is kept outside of the instance, of which "
                       "there is one for each length"
                     : "");
    }
    at = to;
  }
  return fmt::format("Equal in double up to {} tokens, 4 x training{}.", longest,
                     caches.rereads() == 0 ? ""
                                           : fmt::format("; read again {} times, since keys were "
                                                         "stale",
                                                         caches.rereads()));
}

}  // namespace pesuite::checks
