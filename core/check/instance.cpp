#include "check/instance.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "check/finding.h"
#include "check/slots.h"
#include "plugin/card.h"

namespace pesuite::checks {

namespace {

// The sentence of a refusal. One must stand there, and end within its buffer.
std::string sentence_of(const char* error) {
  const std::size_t length = ::strnlen(error, PES_ERROR_SIZE);
  require(length < PES_ERROR_SIZE, "create() wrote no end into its error text of {} bytes",
          PES_ERROR_SIZE);
  const std::string text(error, length);
  require(text.find_first_not_of(" \t\n.") != std::string::npos,
          "create() returned false and wrote no sentence that says why");
  return text;
}

std::string kept_handle(std::string_view how) {
  return fmt::format("{} a handle of another step; handles end with the step they were made in",
                     how);
}

std::vector<Encoding::ParameterSpec> read_parameters(const pes_created& created) {
  std::vector<Encoding::ParameterSpec> out;
  if (created.params == nullptr) return out;
  for (const pes_param* const* p = created.params; *p != nullptr; ++p) {
    const pes_param& c = **p;
    require(PES_HAS(&c, decay), "parameter {} has a struct of {} bytes; pes_param has {} or more",
            out.size(), c.size, sizeof(pes_param));
    require(c.name != nullptr && *c.name != 0, "parameter {} has no name", out.size());
    require(is_lower_snake(c.name), "parameter '{}': the name is not lower_snake, as in my_slope",
            c.name);
    require(c.rank >= 0 && c.rank <= Shape::max_rank, "parameter '{}' has {} axes, not 0 to {}",
            c.name, c.rank, Shape::max_rank);
    for (int i = 0; i < c.rank; ++i)
      require(c.shape[i] >= 1, "axis {} of parameter '{}' has the extent {}", i, c.name,
              c.shape[i]);
    for (const Encoding::ParameterSpec& other : out)
      require(other.name != c.name, "two parameters are called '{}'", c.name);
    require(!PES_HAS(&c, high) || c.low <= c.high, "parameter '{}' is to stay within {} .. {}",
            c.name, c.low, c.high);
    out.push_back(Encoding::spec_of(c));
  }
  return out;
}

}  // namespace

Instance::Instance(const pes_encoding& e, const std::vector<std::string>& values,
                   const ModelShape& m, Host host)
    : encoding_(e), model_(m), host_(host), ops_(op_table()) {
  ops_.fail = [](pes_ctx* c, const char* message) {
    static_cast<Context*>(c)->refused = true;
    op_table().fail(c, message);
  };
  std::vector<const char*> pointers;
  for (const std::string& v : values) pointers.push_back(v.c_str());
  pes_model model{sizeof(pes_model), m.layers,       m.heads,      m.kv_heads, m.head_dim,
                  m.width,           m.train_length, m.max_length, 0,          m.positions};
  pes_created created{sizeof(pes_created), nullptr, nullptr};
  char error[PES_ERROR_SIZE + 8];
  std::memset(error, 0, sizeof error);
  bool made = false;
  {
    Lent<pes_model> lent_model(model, host);
    Lent<pes_created> lent_created(created, host);
    made = e.create(lent_model.get(), pointers.data(), lent_created.get(), error);
    require(lent_created.size_untouched(), "create() changed the size of pes_created");
  }
  if (!made) throw Refused(sentence_of(error));
  self_ = created.self;
  try {
    parameters_ = read_parameters(created);
    require(parameters_.empty() || e.init != nullptr, "it has parameters and no init hook");
  } catch (...) {
    e.destroy(self_);
    throw;
  }
}

Instance::~Instance() {
  encoding_.destroy(self_);
}

std::vector<float> Instance::init(std::size_t parameter, std::uint64_t seed) const {
  constexpr float unwritten = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> out(static_cast<std::size_t>(parameters_[parameter].shape.count()), unwritten);
  encoding_.init(self_, static_cast<std::int32_t>(parameter), seed, out.data());
  for (std::size_t i = 0; i < out.size(); ++i)
    require(std::isfinite(out[i]), "init() leaves element {} of parameter '{}' at {}", i,
            parameters_[parameter].name, out[i]);
  parameters_[parameter].keep(std::span(out));
  return out;
}

double Instance::untrained(int length) const {
  if (!PES_HAS(&encoding_, untrained) || encoding_.untrained == nullptr) return 0;
  return encoding_.untrained(self_, length);
}
bool Instance::stale(int from, int to) const {
  return PES_HAS(&encoding_, stale) && encoding_.stale != nullptr &&
         encoding_.stale(self_, from, to);
}

void Instance::settle(Tape& tape, const char* hook) {
  tape.set_caller({});
  if (context_.thrown) std::rethrow_exception(std::exchange(context_.thrown, nullptr));
  if (!tape.failed()) return;
  if (context_.refused) throw Refused(tape.failure());
  fault("{} ({} at length {})", tape.failure(), hook, step_.length);
}

void Instance::blame(const char* hook, int layer, std::string_view what) const {
  fault("encoding '{}', hook {}{}: {} (at length {})", encoding_.card->name, hook,
        layer < 0 ? "" : fmt::format(", layer {}", layer), what, step_.length);
}

template <class Call>
void Instance::call(Tape& tape, const char* hook, int layer, Call body) {
  tape.set_caller({encoding_.card->name, hook, layer});
  body(lent_step_->get());
  settle(tape, hook);
}

void Instance::begin(Tape& tape, const Pass& p, const std::vector<Tensor>& parameters) {
  context_.begin(tape);
  context_.refused = false;
  handles_.clear();
  for (const Tensor t : parameters) handles_.push_back(context_.lend(t));
  lent_step_.reset();
  lent_ops_.reset();
  lent_ops_ = std::make_unique<Lent<pes_ops>>(ops_, host_);
  step_ = {sizeof(pes_step), &context_, lent_ops_->get(), handles_.data(), p.phase, p.step, p.steps,
           p.seed,           p.batch,   p.length,         p.offset,        0,       {}};
  lent_step_ = std::make_unique<Lent<pes_step>>(step_, host_);
  if (encoding_.begin == nullptr) return;
  call(tape, "begin", -1, [&](const pes_step* s) { encoding_.begin(self_, s); });
}

Tensor Instance::embed(Tape& tape, Tensor x) {
  if (encoding_.embed == nullptr) return x;
  pes_tensor made{};
  call(tape, "embed", -1,
       [&](const pes_step* s) { made = encoding_.embed(self_, s, context_.lend(x)); });
  if (made.id == 0) blame("embed", -1, "it returned the null handle");
  if (!context_.knows(made)) blame("embed", -1, kept_handle("it returned"));
  const Tensor y = context_.tensor(made);
  if (const std::string wrong = misfit(tape.shape(y), tape.shape(x)); !wrong.empty())
    blame("embed", -1, wrong);
  return y;
}

bool Instance::attend(Tape& tape, int layer, Tensor x, Attention& a) {
  if (encoding_.attend == nullptr) return false;
  const pes_ctx& ctx = context_;
  pes_attention c = lend_slots(ctx, layer, x, a);
  call(tape, "attend", layer, [&](const pes_step* s) {
    Lent<pes_attention> lent(c, host_);
    encoding_.attend(self_, s, lent.get());
    require(lent.size_untouched(), "attend() changed the size of pes_attention");
  });
  for (const auto& [name, t] : {std::pair{"q", c.q}, std::pair{"k", c.k},
                                std::pair{"distance", c.distance}, std::pair{"bias", c.bias}})
    if (!ctx.knows(t)) blame("attend", layer, kept_handle(fmt::format("it left in {}", name)));
  if (c.q.id == 0 || c.k.id == 0) blame("attend", layer, "it left the null handle in q or k");
  if (c.rewrite && encoding_.rewrite == nullptr)
    blame("attend", layer,
          "it asks for a rewrite, and there is no hook rewrite(); is it misspelt?");
  if (!std::isfinite(c.scale)) blame("attend", layer, fmt::format("it left scale {}", c.scale));
  take_slots(ctx, c, a);
  if (const std::string wrong = misfit(tape, model_, step_.batch, step_.length, a); !wrong.empty())
    blame("attend", layer, wrong);
  return c.rewrite;
}

Tensor Instance::rewrite(Tape& tape, const Block& b) {
  pes_scores c{};
  c.size = sizeof c;
  c.layer = b.layer;
  c.first = static_cast<std::int32_t>(b.first);
  c.x = context_.lend(b.x), c.q = context_.lend(b.q), c.k = context_.lend(b.k);
  c.v = context_.lend(b.v), c.visible = context_.lend(b.visible);
  c.scale = b.scale;
  c.scores = context_.lend(b.scores);
  call(tape, "rewrite", b.layer, [&](const pes_step* s) {
    Lent<pes_scores> lent(c, host_);
    encoding_.rewrite(self_, s, lent.get());
    require(lent.size_untouched(), "rewrite() changed the size of pes_scores");
  });
  if (c.scores.id == 0) blame("rewrite", b.layer, "it left the null handle in scores");
  if (!context_.knows(c.scores)) blame("rewrite", b.layer, kept_handle("it left in scores"));
  const Shape wanted = tape.shape(b.scores), found = tape.shape(context_.tensor(c.scores));
  if (!(found == wanted))
    blame("rewrite", b.layer,
          fmt::format("it left scores {}, wanted {}: batch, heads, rows of the block, keys",
                      found.text(), wanted.text()));
  return context_.tensor(c.scores);
}

}  // namespace pesuite::checks
