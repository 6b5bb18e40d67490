#include "plan/max_length.h"

#include <cmath>

#include "base/error.h"
#include "base/seal.h"
#include "pesuite/random.hpp"

namespace pesuite {

namespace {

constexpr std::uint64_t trace_seed = 1;

// Everything that an encoding does in a pass, as numbers.
class Trace {
 public:
  Trace(const Catalog& catalog, const Sum& sum, const ModelShape& shape)
      : shape_(shape), backend_(open_backend("reference", {})), encoding_(catalog, sum, shape) {
    for (std::size_t i = 0; i < encoding_.parameters().size(); ++i) {
      const Encoding::ParameterSpec& p = encoding_.parameters()[i];
      note(p.name);
      note(p.shape.text());
      std::vector<float> values(static_cast<std::size_t>(p.shape.count()));
      encoding_.init(i, trace_seed, values);
      start_.emplace_back(values.begin(), values.end());
      note(checksum_of(start_.back()));
    }
  }
  // With sequences of `length` tokens from `offset` on.
  void pass(bool training, int length, int offset) {
    Tape tape(*backend_);
    tape.set_recording(false);
    StepInfo s;
    s.training = training, s.seed = trace_seed, s.batch = 1, s.length = length, s.offset = offset;
    const std::int64_t T = length, D = shape_.head_dim;
    std::vector<Tensor> parameters;
    for (std::size_t i = 0; i < start_.size(); ++i)
      parameters.push_back(tape.constant(encoding_.parameters()[i].shape, start_[i].data()));
    encoding_.begin(tape, s, parameters);
    note(checksum_of(tape, encoding_.embed(tape, some(tape, {1, T, shape_.width}, 1))));
    note(fmt::format("{}", encoding_.untrained(length)));
    const Tensor x = some(tape, {1, T, shape_.width}, 2);
    Attention given;
    given.q = some(tape, {1, shape_.heads, T, D}, 3);
    given.k = some(tape, {1, shape_.kv_heads, T, D}, 4);
    given.v = some(tape, {1, shape_.kv_heads, T, D}, 5);
    given.scale = 1 / std::sqrt(static_cast<double>(D));
    std::string before;  // what the layer before read
    for (int layer = 0; layer < shape_.layers; ++layer) {
      Attention a = given;
      const Tape::Mark mark = tape.mark();
      encoding_.attend(tape, layer, x, a);
      std::string read = fmt::format("{}", a.scale);
      for (const Tensor part : {a.q, a.k, a.v, a.distance, a.bias})
        read += part ? checksum_of(tape, part) : "none";
      // attention is slow here, and most layers are alike
      if (read != before || a.rewrite) note(checksum_of(tape, attend(tape, a)));
      before = std::move(read);
      tape.release_since(mark);
    }
  }
  bool operator==(const Trace& other) const { return all_ == other.all_; }

 private:
  void note(const std::string& text) { all_ += text + "\n"; }
  std::string checksum_of(Tape& tape, Tensor t) {
    if (tape.failed()) fail(Exit::plugin, "{}", tape.failure());
    const View v = tape.view(tape.now(t));  // doubles of the reference backend
    PES_CHECK(backend_->element_size() == sizeof(double) && v.storage == Storage::own);
    return checksum({static_cast<const char*>(v.data),
                     static_cast<std::size_t>(v.shape.count()) * sizeof(double)});
  }
  static std::string checksum_of(const std::vector<double>& values) {
    return checksum({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)});
  }
  // Values in -1 .. 1 without a pattern.
  static Tensor some(Tape& tape, const Shape& shape, int which) {
    std::vector<double> values(static_cast<std::size_t>(shape.count()));
    const auto seed = static_cast<std::uint64_t>(which) << 32;
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<double>(static_cast<std::int64_t>(pes::mix64(seed, i))) * 0x1p-63;
    return tape.constant(shape, values.data());
  }

  ModelShape shape_;
  std::unique_ptr<Backend> backend_;
  Composition encoding_;
  std::vector<std::vector<double>> start_;
  std::string all_;
};

Trace trace(const Catalog& catalog, const Sum& sum, const ModelShape& shape, int least,
            int longest) {
  constexpr int many = 64;  // tokens of a pass: attention here is slow
  Trace t(catalog, sum, shape);
  t.pass(true, std::min(many, shape.train_length), 0);
  t.pass(false, std::min(many, longest), 0);
  if (longest > many) t.pass(false, many, longest - many);
  // as one sequence, for those that count from 0 wherever it begins
  if (const int beyond = std::min(longest, least + 1); beyond > many && beyond <= 4 * many)
    t.pass(false, beyond, 0);
  return t;
}

// What a task is and the examples that it makes, as text.
std::string trace(const Catalog& catalog, const Expression& expression, int train_length,
                  int max_length, int least, int reach) {
  const Task task(catalog, expression, train_length, max_length, reach);
  const pes_task_created& i = task.info();
  std::string out =
      fmt::format("{} {} {} {} {} {} {} {} {}\n", i.inputs, i.outputs, static_cast<int>(i.head),
                  i.document, fmt::join(i.documents, ","), i.digest != nullptr ? i.digest : "",
                  i.candidate_first, i.candidates, i.positions);
  for (const Axis& a : task.axes())
    out += fmt::format("{} {} {} {}\n", a.name, fmt::join(a.values, ","), fmt::join(a.labels, ","),
                       a.trained);
  constexpr int examples = 16;
  const auto make = [&](pes_split split, int length) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(length)), targets(tokens);
    for (std::uint64_t index = 0; index < examples; ++index) {
      if (const std::int64_t n = i.documents[split]; n > 0 && index >= static_cast<std::size_t>(n))
        return;
      try {
        Task::Request r;
        r.split = split, r.seed = trace_seed, r.index = index, r.length = length;
        task.sample(r, tokens, targets);
        out += fmt::format("{} {}\n", fmt::join(tokens, ","), fmt::join(targets, ","));
      } catch (const Error& error) {  // there may be none of that length, in both
        out += fmt::format("{}\n", error.what());
      }
    }
  };
  make(PES_SPLIT_TRAIN, train_length);
  make(PES_SPLIT_VALIDATION, train_length);
  make(PES_SPLIT_TEST, least);  // none longer than what it was made for may be asked of a task
  return out;
}

}  // namespace

bool hangs_on_max_length(const Catalog& catalog, const Sum& sum, ModelShape shape, int least) {
  const int longest = shape.max_length;
  if (longest <= least) return true;  // whatever it says: there is but one length
  try {
    const Trace long_one = trace(catalog, sum, shape, least, longest);
    shape.max_length = least;
    return !(trace(catalog, sum, shape, least, longest) == long_one);
  } catch (const Error&) {  // it cannot be told
    return true;
  }
}

bool hangs_on_max_length(const Catalog& catalog, const Expression& task, int train_length,
                         int longest, int least, int reach) {
  if (longest <= least) return true;
  try {
    return trace(catalog, task, train_length, longest, least, std::max(reach, longest)) !=
           trace(catalog, task, train_length, least, least, std::max(reach, longest));
  } catch (const Error&) {
    return true;
  }
}

}  // namespace pesuite
