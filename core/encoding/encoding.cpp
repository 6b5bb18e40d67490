#include "encoding/encoding.h"

#include <utility>

#include "base/error.h"
#include "encoding/op_table.h"

namespace pesuite {

struct Encoding::Step {
  pes_ctx ctx;
  pes_step c{};
  std::vector<pes_tensor> parameters;
  std::vector<Rewriting> layers;
};
void Encoding::StepDeleter::operator()(Step* s) const {
  delete s;
}

Encoding::Encoding(const Catalog& catalog, const Expression& e, const ModelShape& m)
    : Encoding(catalog.encoding(e.name).descriptor, catalog.encoding(e.name).library, e, m) {}

Encoding::Encoding(const pes_encoding* descriptor, const Library* library, const Expression& e,
                   const ModelShape& m)
    : encoding_(descriptor), library_(library), expression_(e), shape_(m), step_(new Step) {
  const std::string what = fmt::format("encoding '{}'", e.name);
  const std::vector<std::string> values = resolve_options(card(), e.options, what);
  text_ = expression_text(card(), values);
  std::vector<const char*> pointers;
  for (const std::string& v : values) pointers.push_back(v.c_str());
  const pes_model model{sizeof(pes_model), m.layers,       m.heads,      m.kv_heads, m.head_dim,
                        m.width,           m.train_length, m.max_length, 0,          m.positions};
  pes_created created{sizeof(pes_created), nullptr, nullptr};
  char error[PES_ERROR_SIZE] = "no reason given";
  if (!encoding_->create(&model, pointers.data(), &created, error))
    fail(Exit::usage, "{}: {}", what, error);
  self_ = {created.self, encoding_->destroy};
  if (created.params != nullptr)
    for (const pes_param* const* p = created.params; *p != nullptr; ++p) {
      if ((*p)->rank < 0 || (*p)->rank > Shape::max_rank)
        fail(Exit::plugin, "{}: parameter '{}' has {} axes", what, (*p)->name, (*p)->rank);
      parameters_.push_back(spec_of(**p));
    }
  if (!parameters_.empty() && encoding_->init == nullptr)
    fail(Exit::plugin, "{} has parameters and no init hook", what);
}

Encoding::ParameterSpec Encoding::spec_of(const pes_param& p) {
  ParameterSpec s{p.name, Shape::of(p.rank, p.shape), p.decay};
  if (PES_HAS(&p, high)) s.low = p.low, s.high = p.high;
  return s;
}

void Encoding::init(std::size_t parameter, std::uint64_t seed, std::span<float> out) const {
  PES_CHECK(out.size() == static_cast<std::size_t>(parameters_[parameter].shape.count()));
  encoding_->init(self_.get(), static_cast<std::int32_t>(parameter), seed, out.data());
}

double Encoding::untrained(int length) const {
  if (!PES_HAS(encoding_, untrained) || encoding_->untrained == nullptr) return 0;
  return encoding_->untrained(self_.get(), length);
}

bool Encoding::stale(int from, int to) const {
  return PES_HAS(encoding_, stale) && encoding_->stale != nullptr &&
         encoding_->stale(self_.get(), from, to);
}

void Encoding::settle(Tape& tape) const {
  tape.set_caller({});
  if (step_->ctx.thrown) std::rethrow_exception(std::exchange(step_->ctx.thrown, nullptr));
  if (tape.refused()) throw Refusal(tape.failure());
  if (tape.failed()) fail(Exit::plugin, "{}", tape.failure());
}

void Encoding::begin(Tape& tape, const StepInfo& info, std::span<const Tensor> parameters) {
  Step& s = *step_;
  s.ctx.begin(tape);
  s.parameters.clear();
  for (const Tensor p : parameters) s.parameters.push_back(s.ctx.lend(p));
  s.layers.resize(static_cast<std::size_t>(layers()));  // closures of the tape point into it
  s.c = {sizeof(pes_step),
         &s.ctx,
         &op_table(),
         s.parameters.data(),
         info.training ? PES_TRAIN : PES_EVAL,
         info.step,
         info.steps,
         info.seed,
         info.batch,
         info.length,
         info.offset,
         0,
         s.ctx.lend(info.positions)};
  if (encoding_->begin == nullptr) return;
  tape.set_caller({card().name, "begin"});
  encoding_->begin(self_.get(), &s.c);
  settle(tape);
}

Tensor Encoding::embed(Tape& tape, Tensor x) const {
  if (encoding_->embed == nullptr) return x;
  const Shape before = tape.shape(x);
  tape.set_caller({card().name, "embed"});
  const pes_ctx& ctx = step_->ctx;
  const pes_tensor y = encoding_->embed(self_.get(), &step_->c, ctx.lend(x));
  if (y.id == 0)
    tape.fail("returned the null handle");
  else if (!ctx.knows(y) || !(tape.shape(ctx.tensor(y)) == before))
    tape.fail(fmt::format("returned {}, wanted {}",
                          ctx.knows(y) ? tape.shape(ctx.tensor(y)).text() : "an unknown handle",
                          before.text()));
  settle(tape);
  return ctx.tensor(y);
}

void Encoding::attend(Tape& tape, int layer, Tensor x, Attention& a) const {
  if (encoding_->attend == nullptr) return;
  const pes_ctx& ctx = step_->ctx;
  pes_attention c = lend_slots(ctx, layer, x, a);
  tape.set_caller({card().name, "attend", layer});
  encoding_->attend(self_.get(), &step_->c, &c);
  for (const pes_tensor t : {c.q, c.k, c.distance, c.bias})
    if (!ctx.knows(t)) tape.fail("left a handle in its slots that is not of this step");
  if (c.q.id == 0 || c.k.id == 0) tape.fail("left the null handle in q or k");
  if (c.rewrite && encoding_->rewrite == nullptr)
    tape.fail("asks for a rewrite and has no such hook");
  settle(tape);
  take_slots(ctx, c, a);
  if (c.rewrite) {
    // one at a time for each: a layer that is computed again takes the place of the one before
    Rewriting& here = step_->layers.at(static_cast<std::size_t>(layer));
    here = {this, layer, x, a.v, c.scale};
    a.rewrite = {&here, rewrite};
  }
}

void Encoding::rewrite_with(int layer, double scale) const {
  step_->layers.at(static_cast<std::size_t>(layer)).scale = scale;
}

Tensor Encoding::rewrite(const void* self, Tape& tape, Tensor scores, Tensor q, Tensor k,
                         Tensor visible, std::int64_t first) {
  const Rewriting& layer = *static_cast<const Rewriting*>(self);
  const Encoding& e = *layer.encoding;
  const pes_ctx& ctx = e.step_->ctx;
  pes_scores c{sizeof(pes_scores),
               layer.layer,
               static_cast<std::int32_t>(first),
               ctx.lend(layer.x),
               ctx.lend(q),
               ctx.lend(k),
               ctx.lend(visible),
               layer.scale,
               ctx.lend(scores),
               0,
               ctx.lend(layer.v)};
  tape.set_caller({e.card().name, "rewrite", layer.layer});
  e.encoding_->rewrite(e.self_.get(), &e.step_->c, &c);
  if (!ctx.knows(c.scores)) tape.fail("left a handle in scores that is not of this step");
  e.settle(tape);
  return ctx.tensor(c.scores);
}

}  // namespace pesuite
