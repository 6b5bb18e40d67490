// The whole model against an independent implementation (tests/model/make_vectors.py, PyTorch in
// double): loss, all gradients, ten optimiser steps.
#include <fstream>

#include "model/model.h"
#include "model/optimizer.h"
#include "model/safetensors.h"
#include "tests/support.h"

namespace pesuite::testing {
namespace {

ModelConfig config_of(const Json& c) {
  ModelConfig m;
  m.width = c["width"], m.layers = c["layers"], m.heads = c["heads"], m.kv_heads = c["kv_heads"];
  m.ff_width = c["ff_width"], m.vocabulary = c["vocabulary"], m.classes = c["classes"];
  m.norm = c["norm"] == "layer" ? Norm::layer : Norm::rms;
  m.norm_eps = c["eps"];
  m.activation = c["activation"] == "gelu" ? Activation::gelu : Activation::swiglu;
  m.qk_norm = c["qk_norm"] == "before"  ? QkNorm::before
              : c["qk_norm"] == "after" ? QkNorm::after
                                        : QkNorm::off;
  m.tied = c["tied"], m.parallel = c["parallel"];
  m.attention_bias = c["attention_bias"], m.mlp_bias = c["mlp_bias"], m.head_bias = c["head_bias"];
  return m;
}

struct Vectors {
  SafetensorsReader file;
  Json meta;
  ModelConfig config;
  Batch batch;
  explicit Vectors(const std::string& name)
      : file(std::string(PESUITE_TEST_DIR) + "/model/vectors/" + name + ".safetensors"),
        meta(Json::parse(file.metadata().at("vectors"))),
        config(config_of(meta["config"])) {
    batch.length = meta["config"]["length"];
    batch.tokens = meta["tokens"].get<std::vector<std::int32_t>>();
    batch.targets = meta["targets"].get<std::vector<std::int32_t>>();
    batch.size = static_cast<int>(batch.tokens.size()) / batch.length;
  }
  StepInfo step() const {
    StepInfo s;
    s.training = true;
    s.batch = batch.size;
    s.length = batch.length;
    return s;
  }
  double weight() const {
    return 1.0 / static_cast<double>(std::count_if(batch.targets.begin(), batch.targets.end(),
                                                   [](int t) { return t >= 0; }));
  }
};

// The vectors name an encoding's parameters without the encoding: "encoding.table".
std::string in_vectors(const std::string& name) {
  const std::string owner = "encoding.";
  return name.starts_with(owner) ? owner + name.substr(name.find('.', owner.size()) + 1) : name;
}

std::unique_ptr<Model> make_model(Backend& backend, const Catalog& catalog, const Vectors& v) {
  const ModelConfig& c = v.config;
  Encoding encoding(catalog, parse_expression(v.meta["config"]["encoding"].get<std::string>()),
                    shape_of(c, v.batch.length, v.batch.length));
  auto model = std::make_unique<Model>(backend, c, std::move(encoding), 1);
  std::size_t found = 0;
  for (Parameter& p : model->parameters()) {
    backend.upload({p.value, p.shape}, v.file.read("start." + in_vectors(p.name), p.shape).data());
    ++found;
  }
  std::size_t given = 0;
  for (const auto& [name, entry] : v.file.tensors()) given += name.starts_with("start.") ? 1 : 0;
  EXPECT_EQ(found, given) << "parameters of the model and of the vectors";
  return model;
}

double mean(const std::vector<double>& nats) {
  double sum = 0;
  for (const double x : nats) sum += x;
  return sum / static_cast<double>(nats.size());
}

struct Case {
  std::string backend, vectors;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.backend << " " << c.vectors;
}

class WholeModel : public ::testing::TestWithParam<Case> {};

TEST_P(WholeModel, AgreesWithPyTorch) {
  const bool exact = GetParam().backend == "reference";
  const Catalog catalog = open_catalog({PESUITE_TEST_PLUGINS});
  const Vectors v(GetParam().vectors);
  const auto backend = open_backend(GetParam().backend, {});
  const auto model = make_model(*backend, catalog, v);
  EXPECT_EQ(model->count() - model->encoding_count(), parameter_count(v.config));

  Optimizer optimizer(*backend, {v.meta["lr"], v.meta["beta1"], v.meta["beta2"], v.meta["eps"],
                                 v.meta["weight_decay"], v.meta["clip"]});
  const auto compare = [&](const char* prefix, bool gradient, double tolerance) {
    for (Parameter& p : model->parameters()) {
      Values actual{p.shape, std::vector<double>(static_cast<std::size_t>(p.shape.count()))};
      backend->download(actual.data.data(), View{gradient ? p.grad : p.value, p.shape});
      const Values wanted{p.shape, v.file.read(prefix + in_vectors(p.name), p.shape)};
      // A key bias shifts all scores of a row alike, so its gradient is 0 but for rounding, which
      // Adam blows up to whole steps: after training it means nothing in fp32.
      if (!exact && !gradient && p.name.ends_with("qkv.bias"))
        std::copy_n(wanted.data.begin() + v.config.width, v.config.groups() * v.config.head_dim(),
                    actual.data.begin() + v.config.width);
      expect_close(actual, wanted, tolerance, prefix + p.name);
    }
  };
  for (int i = 0; i < 10; ++i) {
    const Scores scores = model->learn(v.batch, v.step(), v.weight());
    const double wanted = v.meta["losses"][static_cast<std::size_t>(i)];
    EXPECT_NEAR(mean(scores.nats), wanted, exact ? 1e-11 : 2e-4) << "loss of step " << i;
    if (i == 0) compare("gradient.", true, exact ? 1e-11 : 1e-5);
    const double norm = optimizer.update(model->parameters(), 1, i);
    EXPECT_NEAR(norm, v.meta["norms"][static_cast<std::size_t>(i)].get<double>(),
                exact ? 1e-10 : 2e-3)
        << "gradient norm of step " << i;
  }
  compare("end.", false, exact ? 1e-9 : 1e-3);
}

// Scoring alone gives the losses of the training pass.
TEST_P(WholeModel, ScoresAsItLearns) {
  const Catalog catalog = open_catalog({PESUITE_TEST_PLUGINS});
  const Vectors v(GetParam().vectors);
  const auto backend = open_backend(GetParam().backend, {});
  const auto model = make_model(*backend, catalog, v);
  const Scores learned = model->learn(v.batch, v.step(), v.weight());
  StepInfo s = v.step();
  s.training = false;
  const Scores scored = model->score(v.batch, s);
  EXPECT_EQ(scored.nats, learned.nats);
  EXPECT_EQ(scored.best, learned.best);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* backend : {"reference", "cpu"})
    for (const char* name : {"llama_rope", "gpt_learned", "pythia_none", "grouped_alibi",
                             "explorer_rope", "classifier_none"})
      all.push_back({backend, name});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Vectors, WholeModel, ::testing::ValuesIn(cases()), [](const auto& info) {
  return info.param.backend + "_" + info.param.vectors;
});

}  // namespace
}  // namespace pesuite::testing
