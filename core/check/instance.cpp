#include "check/instance.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "check/finding.h"

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

std::vector<Encoding::ParameterSpec> read_parameters(const pes_created& created) {
  std::vector<Encoding::ParameterSpec> out;
  if (created.params == nullptr) return out;
  for (const pes_param* const* p = created.params; *p != nullptr; ++p) {
    const pes_param& c = **p;
    require(PES_HAS(&c, decay), "parameter {} has a struct of {} bytes; pes_param has {} or more",
            out.size(), c.size, sizeof(pes_param));
    require(c.name != nullptr && *c.name != 0, "parameter {} has no name", out.size());
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

void Instance::settle(Tape& tape, const char* hook) {
  tape.set_caller({});
  if (context_.thrown) std::rethrow_exception(std::exchange(context_.thrown, nullptr));
  if (!tape.failed()) return;
  if (context_.refused) throw Refused(tape.failure());
  fault("{} ({} at length {})", tape.failure(), hook, step_.length);
}

template <class Call>
void Instance::call(Tape& tape, const char* hook, int layer, Call body) {
  tape.set_caller({encoding_.card->name, hook, layer});
  body(lent_step_->get());
  settle(tape, hook);
}

void Instance::begin(Tape& tape, const Pass& p, const std::vector<Tensor>& parameters) {
  context_ = {};
  context_.tape = &tape;
  handles_.clear();
  for (const Tensor t : parameters) handles_.push_back({t.id});
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
  Tensor y;
  call(tape, "embed", -1, [&](const pes_step* s) { y = {encoding_.embed(self_, s, {x.id}).id}; });
  require(y && tape.knows(y), "embed() returned {}", y ? "an unknown handle" : "the null handle");
  require(tape.shape(y) == tape.shape(x), "embed() returned {}, wanted {}", tape.shape(y).text(),
          tape.shape(x).text());
  return y;
}

bool Instance::attend(Tape& tape, int layer, Tensor x, Attention& a) {
  if (encoding_.attend == nullptr) return false;
  pes_attention c{sizeof(pes_attention), layer,       {x.id}, {a.q.id}, {a.k.id}, a.scale,
                  {a.distance.id},       {a.bias.id}, false};
  call(tape, "attend", layer, [&](const pes_step* s) {
    Lent<pes_attention> lent(c, host_);
    encoding_.attend(self_, s, lent.get());
    require(lent.size_untouched(), "attend() changed the size of pes_attention");
  });
  for (const pes_tensor t : {c.q, c.k, c.distance, c.bias})
    require(tape.knows({t.id}), "attend() left a handle that is not of this step in its slots");
  require(c.q.id != 0 && c.k.id != 0, "attend() left the null handle in q or k");
  require(!c.rewrite || encoding_.rewrite != nullptr,
          "attend() asks for a rewrite and there is no such hook");
  require(std::isfinite(c.scale), "attend() left the scale {}", c.scale);
  a.q = {c.q.id};
  a.k = {c.k.id};
  a.scale = c.scale;
  a.distance = {c.distance.id};
  a.bias = {c.bias.id};
  return c.rewrite;
}

Tensor Instance::rewrite(Tape& tape, const Block& b) {
  pes_scores c{};
  c.size = sizeof c;
  c.layer = b.layer;
  c.first = static_cast<std::int32_t>(b.first);
  c.x = {b.x.id}, c.q = {b.q.id}, c.k = {b.k.id}, c.v = {b.v.id};
  c.visible = {b.visible.id};
  c.scale = b.scale;
  c.scores = {b.scores.id};
  call(tape, "rewrite", b.layer, [&](const pes_step* s) {
    Lent<pes_scores> lent(c, host_);
    encoding_.rewrite(self_, s, lent.get());
    require(lent.size_untouched(), "rewrite() changed the size of pes_scores");
  });
  require(c.scores.id != 0 && tape.knows({c.scores.id}),
          "rewrite() left a handle in scores that is not of this step");
  return {c.scores.id};
}

}  // namespace pesuite::checks
