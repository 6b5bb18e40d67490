// Encodings against vectors made by public reference code: values and gradients, on the reference
// backend within the vector's own tolerance and on the CPU within that of fp32.
//
// tests/golden holds what this test needs; a folder of further vectors of the same schema is used
// as well where CMake's PESUITE_GOLDEN_DIR points to one.
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "model/encoding.h"
#include "tests/support.h"

namespace pesuite::testing {
namespace {

Values values_of(const Json& j) {
  Values v;
  std::vector<std::int64_t> extents = j.at("shape");
  v.shape = Shape::of(static_cast<int>(extents.size()), extents.data());
  v.data = j.at("data").get<std::vector<double>>();
  return v;
}

struct Vector {
  std::string name;
  Json j;
  const Json& config() const { return j.at("config"); }
  bool has(const char* input) const { return j.at("inputs").contains(input); }
  Values input(const char* name_) const { return values_of(j.at("inputs").at(name_)); }
  Values output(const std::string& name_) const { return values_of(j.at("outputs").at(name_)); }
  double number(const char* key, double otherwise) const { return config().value(key, otherwise); }
  std::string text(const char* key) const { return config().value(key, std::string()); }
};

// The encoding as this program spells it; "" with a reason where a vector asks for something that
// causal attention here does not have.
struct Spelling {
  std::string expression, skip;
};
Spelling spell(const Vector& v) {
  const std::string pe = v.j.at("pe");
  if (pe == "none") return {"none", ""};
  if (pe == "alibi") {
    const std::string variant = v.text("variant");
    if (variant.find("0.5") != std::string::npos)
      return {
          "",
          "a bidirectional variant with half a slope below the diagonal; attention here is causal"};
    return {"alibi", ""};
  }
  if (pe == "rope") {
    const auto features = static_cast<int>(v.number("rotary_dim", 0));
    const std::string layout = v.text("layout").empty() ? "half" : v.text("layout");
    return {fmt::format("rope(base={}, layout={}, features={})", v.number("base", 10000), layout,
                        features),
            ""};
  }
  if (pe == "t5") {
    if (v.config().value("bidirectional", false) ||
        v.config().value("bidirectional_buckets", false))
      return {"", "bidirectional buckets: attention here is causal"};
    const std::string scale = v.number("scale", 0) == 1 ? "one" : "head";
    return {fmt::format("t5(buckets={}, max_distance={}, scale={}, multiply_sqrt_head={})",
                        v.config().at("num_buckets").dump(), v.config().at("max_distance").dump(),
                        scale, v.config().contains("bias_multiplier") ? "true" : "false"),
            ""};
  }
  if (pe == "learned") {
    const bool scaled = v.number("output_scale", 1) < 1;
    return {fmt::format("learned(rows={}, scale_rows={})", v.input("table").shape[0],
                        scaled ? "true" : "false"),
            ""};
  }
  if (pe == "sinusoidal") {
    const std::string layout = v.text("layout");
    const double base = v.number("base", v.number("theta", v.number("max_timescale", 10000)));
    return {fmt::format("sinusoidal(base={}, layout={}, exponent={}, scale_embedding={}, "
                        "learned_scale={})",
                        base, layout.find("concat") != std::string::npos ? "concat" : "interleaved",
                        layout.find("half-1") != std::string::npos ? "endpoints" : "width",
                        v.number("embedding_scale", 1) != 1 ? "true" : "false",
                        v.has("scale") ? "true" : "false"),
            ""};
  }
  return {"", "not an encoding of this version"};
}

struct Context {  // one vector on one backend
  const Vector& v;
  Backend& backend;
  Encoding encoding;
  std::vector<std::string> parameters;  // vector's names of the encoding's parameters, in order
};

ModelShape shape_of(const Vector& v, int heads) {
  const auto D = static_cast<int>(v.number("D", 8));
  const auto T = static_cast<int>(v.number("T", 16));
  ModelShape m;
  m.layers = 1, m.heads = m.kv_heads = heads, m.head_dim = D;
  m.width = static_cast<int>(v.number("d_model", heads * D));
  m.train_length = m.max_length = std::max(T, 4096);
  return m;
}

// Binds the hooks to one step of `length` tokens at `offset` and builds inside it.
Build within(Context& c, int length, int offset,
             std::function<Tensor(Tape&, const std::vector<Tensor>&)> body, std::size_t own) {
  return [&c, length, offset, body, own](Tape& t, const std::vector<Tensor>& x) {
    static std::vector<Tensor> parameters;
    parameters.assign(x.begin() + static_cast<std::ptrdiff_t>(own), x.end());
    StepInfo s;
    s.training = true;
    s.batch = 1, s.length = length, s.offset = offset;
    c.encoding.begin(t, s, parameters);
    return body(t, x);
  };
}
std::vector<Values> with_parameters(const Context& c, std::vector<Values> inputs) {
  for (const std::string& p : c.parameters) {
    Values v = c.v.input(p.c_str());
    inputs.push_back(v);
  }
  return inputs;
}

Values leading_one(Values v) {  // [H, T, D] -> [1, H, T, D]
  std::int64_t e[4] = {1, v.shape[0], v.shape[1], v.shape[2]};
  v.shape = Shape::of(4, e);
  return v;
}

class Comparison {
 public:
  Comparison(const Vector& v, bool exact) : v_(v), exact_(exact) {}
  void operator()(const std::string& output, const std::vector<double>& actual,
                  bool gradient) const {
    const Values wanted = v_.output(output);
    ASSERT_EQ(actual.size(), wanted.data.size()) << output;
    const Json& tolerance = v_.j.at("tolerance");
    const double abs = exact_ ? tolerance.at("abs").get<double>() : gradient ? 1e-4 : 2e-5;
    const double rel = exact_ ? tolerance.at("rel").get<double>() : gradient ? 1e-4 : 2e-5;
    for (std::size_t i = 0; i < actual.size(); ++i)
      ASSERT_LE(std::fabs(actual[i] - wanted.data[i]),
                tolerance_scale() * (abs + rel * std::fabs(wanted.data[i])))
          << v_.name << " " << output << "[" << i << "]: " << actual[i] << ", wanted "
          << wanted.data[i];
  }

 private:
  const Vector& v_;
  bool exact_;
};

void check_attention(Context& c, const Comparison& compare) {
  const Vector& v = c.v;
  const Values q = leading_one(v.input("q")), k = leading_one(v.input("k")),
               w = leading_one(v.input("v"));
  const std::int64_t H = q.shape[1], T = q.shape[2], E = w.shape[3];
  const Build attention = within(
      c, static_cast<int>(T), 0,
      [&](Tape& t, const std::vector<Tensor>& x) {
        Attention a;
        a.q = x[0], a.k = x[1], a.v = x[2];
        a.scale = v.number("scale", 1);
        c.encoding.attend(t, 0, {}, a);
        const int axes[] = {0, 2, 1, 3};
        return ops::permute(t, ops::reshape(t, attend(t, a), {1, T, H, E}), axes);  // [1, H, T, E]
      },
      3);
  const std::vector<Values> inputs = with_parameters(c, {q, k, w});
  const Result forward = run(c.backend, inputs, attention, false);
  ASSERT_EQ(forward.failure, "");
  compare("O", forward.y.data, false);
  const Values dO = leading_one(v.input("dO"));
  const Result r = run(c.backend, inputs, attention, true, &dO);
  compare("dq", r.gradients[0].data, true);
  compare("dk", r.gradients[1].data, true);
  compare("dv", r.gradients[2].data, true);
  for (std::size_t i = 0; i < c.parameters.size(); ++i)
    compare("d_" + c.parameters[i], r.gradients[3 + i].data, true);
}

void check_embedding_attention(Context& c, const Comparison& compare) {
  const Vector& v = c.v;
  const Values x0 = v.input("x");
  const std::int64_t T = x0.shape[0], W = x0.shape[1], H = v.config().at("H"),
                     D = v.config().at("D");
  const int offset =
      v.j.value("notes", std::string()).find("offset=5") != std::string::npos ? 5 : 0;
  const Build build = within(
      c, static_cast<int>(T), offset,
      [&](Tape& t, const std::vector<Tensor>& x) {
        const Tensor h = c.encoding.embed(t, ops::reshape(t, x[0], {1, T, W}));
        const auto heads = [&](Tensor weight) {  // weight [in, out]
          const int axes[] = {0, 2, 1, 3};
          return ops::permute(t, ops::reshape(t, ops::matmul(t, h, weight, false), {1, T, H, D}),
                              axes);
        };
        Attention a;
        a.q = heads(x[1]), a.k = heads(x[2]), a.v = heads(x[3]);
        a.scale = v.config().at("scale");
        const int axes[] = {0, 2, 1, 3};
        return ops::permute(t, ops::reshape(t, attend(t, a), {1, T, H, D}), axes);
      },
      4);
  const std::vector<Values> inputs =
      with_parameters(c, {x0, v.input("wq"), v.input("wk"), v.input("wv")});
  const Result forward = run(c.backend, inputs, build, false);
  ASSERT_EQ(forward.failure, "");
  compare("O", forward.y.data, false);
  const Values dO = leading_one(v.input("dO"));
  const Result r = run(c.backend, inputs, build, true, &dO);
  std::vector<std::string> names = {"d_x", "d_wq", "d_wk", "d_wv"};
  for (const std::string& p : c.parameters) names.push_back("d_" + p);
  for (std::size_t i = 0; i < names.size(); ++i) compare(names[i], r.gradients[i].data, true);
}

// Each token alone, at its own position.
void check_qk(Context& c, const Comparison& compare) {
  const Vector& v = c.v;
  const Values q = v.input("q"), k = v.input("k"), gq = v.input("G_q"), gk = v.input("G_k");
  const std::vector<double> positions = v.input("position_ids").data;
  const std::int64_t H = q.shape[0], T = q.shape[1], D = q.shape[2];
  std::vector<double> out[4];  // q, k, d_q, d_k as [T, H, D] collected below
  for (auto& o : out) o.resize(q.data.size());
  for (std::int64_t n = 0; n < T; ++n) {
    const auto token = [&](const Values& all) {
      Values one_token{{1, H, 1, D}, {}};
      for (std::int64_t h = 0; h < H; ++h)
        for (std::int64_t d = 0; d < D; ++d)
          one_token.data.push_back(all.data[static_cast<std::size_t>((h * T + n) * D + d)]);
      return one_token;
    };
    for (int side = 0; side < 2; ++side) {
      const Build build = within(
          c, 1, static_cast<int>(positions[static_cast<std::size_t>(n)]),
          [&](Tape& t, const std::vector<Tensor>& x) {
            Attention a;
            a.q = x[0], a.k = x[1], a.v = x[0];
            c.encoding.attend(t, 0, {}, a);
            return side == 0 ? a.q : a.k;
          },
          2);
      const std::vector<Values> inputs = {token(q), token(k)};
      const Result forward = run(c.backend, inputs, build, false);
      ASSERT_EQ(forward.failure, "");
      const Values g = token(side == 0 ? gq : gk);
      const Result r = run(c.backend, inputs, build, true, &g);
      for (std::int64_t i = 0; i < H * D; ++i) {
        const auto to = static_cast<std::size_t>((i / D * T + n) * D + i % D),
                   from = static_cast<std::size_t>(i);
        out[side][to] = forward.y.data[from];
        out[2 + side][to] = r.gradients[static_cast<std::size_t>(side)].data[from];
      }
    }
  }
  compare("q_rot", out[0], false);
  compare("k_rot", out[1], false);
  compare("d_q", out[2], true);
  compare("d_k", out[3], true);
}

// What the encoding adds to embeddings of zeros.
void check_table(Context& c, const Comparison& compare) {
  const Vector& v = c.v;
  const auto T = static_cast<int>(v.number("T", 1));
  const auto W = static_cast<int>(v.config().at("d_model"));
  const auto offset = static_cast<int>(v.number("offset", v.number("start_index", 0)));
  const Build build = within(
      c, T, offset,
      [&](Tape& t, const std::vector<Tensor>& x) {
        return c.encoding.embed(t, ops::affine(t, x[0], 0, 0));
      },
      1);
  const std::vector<Values> inputs = with_parameters(c, {random_values({1, T, W}, 3)});
  const Result forward = run(c.backend, inputs, build, false);
  ASSERT_EQ(forward.failure, "");
  compare(v.j.at("outputs").contains("pe") ? "pe" : "table", forward.y.data, false);
  if (!v.has("G")) return;
  const Values G = v.input("G");
  const Result r = run(c.backend, inputs, build, true, &G);
  for (std::size_t i = 0; i < c.parameters.size(); ++i)
    compare("d_" + c.parameters[i], r.gradients[1 + i].data, true);
}

// Angle and length of what becomes of the pair (1, 0) at position 1.
void check_inv_freq(Context& c, const Comparison& compare) {
  const auto D = static_cast<int>(c.v.config().at("D"));
  Values q{{1, 1, 1, D}, std::vector<double>(static_cast<std::size_t>(D), 0.0)};
  std::fill_n(q.data.begin(), D / 2, 1.0);
  const Build build = within(
      c, 1, 1,
      [&](Tape& t, const std::vector<Tensor>& x) {
        Attention a;
        a.q = a.k = a.v = x[0];
        c.encoding.attend(t, 0, {}, a);
        return a.q;
      },
      1);
  const Result r = run(c.backend, {q}, build, false);
  ASSERT_EQ(r.failure, "");
  std::vector<double> frequencies, lengths;
  for (int i = 0; i < D / 2; ++i) {
    const double x = r.y.data[static_cast<std::size_t>(i)],
                 y = r.y.data[static_cast<std::size_t>(i + D / 2)];
    frequencies.push_back(std::atan2(y, x));
    lengths.push_back(std::hypot(x, y));
  }
  compare("inv_freq", frequencies, false);
  compare("attention_scaling", {lengths[0]}, false);
}

// The distance slot of a model with `heads` heads, [H, length].
std::vector<double> distances(Context& c, int length, const std::vector<Values>& parameters,
                              std::vector<Values>* gradients = nullptr, const Values* g = nullptr) {
  const Build build = within(
      c, length, 0,
      [&](Tape& t, const std::vector<Tensor>& x) {
        Attention a;
        a.q = a.k = a.v = x[0];
        c.encoding.attend(t, 0, {}, a);
        return ops::slice(t, a.distance, 1, 0, length);
      },
      1);
  std::vector<Values> inputs = {random_values({1, 1, 1, 8}, 1)};
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  const Result forward = run(c.backend, inputs, build, false);
  EXPECT_EQ(forward.failure, "");
  if (gradients != nullptr) *gradients = run(c.backend, inputs, build, true, g).gradients;
  return forward.y.data;
}

void check_bias(Context& c, const Comparison& compare) {
  const Vector& v = c.v;
  const std::int64_t H = v.config().at("H"), T = v.config().at("T");
  const std::vector<Values> parameters = with_parameters(c, {});
  const std::vector<double> d = distances(c, static_cast<int>(T), parameters);
  std::vector<double> bias = v.output("bias").data;  // entries above the diagonal are not compared
  for (std::int64_t h = 0; h < H; ++h)
    for (std::int64_t i = 0; i < T; ++i)
      for (std::int64_t j = 0; j <= i; ++j)
        bias[static_cast<std::size_t>((h * T + i) * T + j)] =
            d[static_cast<std::size_t>(h * T + i - j)];
  compare("bias", bias, false);
  if (!v.has("G")) return;
  const Values full = v.input("G");
  Values g{{H, T}, std::vector<double>(static_cast<std::size_t>(H * T), 0.0)};
  for (std::int64_t h = 0; h < H; ++h)
    for (std::int64_t i = 0; i < T; ++i)
      for (std::int64_t j = 0; j <= i; ++j)
        g.data[static_cast<std::size_t>(h * T + i - j)] +=
            full.data[static_cast<std::size_t>((h * T + i) * T + j)];
  std::vector<Values> gradients;
  distances(c, static_cast<int>(T), parameters, &gradients, &g);
  for (std::size_t i = 0; i < c.parameters.size(); ++i)
    compare("d_" + c.parameters[i], gradients[1 + i].data, true);
}

void check_buckets(Context& c, const Comparison& compare) {
  const Vector& v = c.v;
  const std::int64_t buckets = v.config().at("num_buckets");
  Values table{{buckets, 1}, {}};
  for (std::int64_t b = 0; b < buckets; ++b) table.data.push_back(static_cast<double>(b));
  const std::vector<double> relative = v.input("relative_position").data;
  const double farthest = -*std::min_element(relative.begin(), relative.end());
  const std::vector<double> of = distances(c, static_cast<int>(farthest) + 1, {table});
  std::vector<double> actual = v.output("bucket").data;  // keys behind the query are not compared
  for (std::size_t i = 0; i < relative.size(); ++i)
    if (relative[i] <= 0) actual[i] = of[static_cast<std::size_t>(-relative[i])];
  compare("bucket", actual, false);
}

void check_slopes(const Vector& v, Backend& backend, const Catalog& catalog,
                  const Comparison& compare) {
  for (const int heads : v.config().at("heads").get<std::vector<int>>()) {
    Context c{v, backend, Encoding(catalog, parse_expression("alibi"), shape_of(v, heads)), {}};
    const std::vector<double> d = distances(c, 2, {});
    std::vector<double> slopes;
    for (int h = 0; h < heads; ++h) slopes.push_back(-d[static_cast<std::size_t>(2 * h + 1)]);
    compare(fmt::format("slopes_{}", heads), slopes, false);
  }
}

void check_vector(const Vector& v, const std::string& backend_name) {
  const Spelling spelling = spell(v);
  if (!spelling.skip.empty()) GTEST_SKIP() << v.name << ": " << spelling.skip;
  const Catalog catalog = open_catalog({PESUITE_TEST_PLUGINS});
  const auto backend = open_backend(backend_name, {});
  const Comparison compare(v, backend_name == "reference");
  const std::string kind = v.j.at("kind");
  if (kind == "slopes") return check_slopes(v, *backend, catalog, compare);
  Context c{v,
            *backend,
            Encoding(catalog, parse_expression(spelling.expression),
                     shape_of(v, static_cast<int>(v.number("H", 1)))),
            {}};
  for (const Encoding::ParameterSpec& p : c.encoding.parameters()) c.parameters.push_back(p.name);
  if (kind == "attention") return check_attention(c, compare);
  if (kind == "embedding_attention") return check_embedding_attention(c, compare);
  if (kind == "qk") return check_qk(c, compare);
  if (kind == "table") return check_table(c, compare);
  if (kind == "inv_freq") return check_inv_freq(c, compare);
  if (kind == "bias") return check_bias(c, compare);
  if (kind == "buckets") return check_buckets(c, compare);
  FAIL() << v.name << ": unknown kind " << kind;
}

struct Case {
  std::string file, backend;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.backend << " " << c.file;
}

std::vector<Case> cases() {
  static const std::set<std::string> known = {"none", "sinusoidal", "learned",
                                              "rope", "alibi",      "t5"};
  std::map<std::string, std::string> files;  // name -> path; a clone's own come first
  for (const char* folder : {PESUITE_TEST_DIR "/golden", PESUITE_GOLDEN_DIR}) {
    std::error_code missing;
    for (const auto& item : std::filesystem::directory_iterator(folder, missing)) {
      const std::string name = item.path().stem();
      if (item.path().extension() == ".json" && known.contains(name.substr(0, name.find("__"))))
        files.emplace(name, item.path());
    }
  }
  std::vector<Case> all;
  for (const auto& [name, path] : files)
    for (const char* backend : {"reference", "cpu"}) all.push_back({path, backend});
  return all;
}

class Golden : public ::testing::TestWithParam<Case> {};

TEST_P(Golden, ValuesAndGradients) {
  const std::filesystem::path path = GetParam().file;
  check_vector({path.stem(), Json::parse(read_file(path))}, GetParam().backend);
}

INSTANTIATE_TEST_SUITE_P(Vectors, Golden, ::testing::ValuesIn(cases()), [](const auto& info) {
  return std::filesystem::path(info.param.file).stem().string() + "_" + info.param.backend;
});

}  // namespace
}  // namespace pesuite::testing
