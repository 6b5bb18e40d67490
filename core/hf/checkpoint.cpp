#include "hf/checkpoint.h"

#include <algorithm>

#include "base/error.h"

namespace pesuite::hf {

Checkpoint::Checkpoint(const Catalog& catalog, const fs::path& folder,
                       std::unique_ptr<Backend> backend, int longest, const std::string& encoding)
    : published_(read_config(folder)), backend_(std::move(backend)) {
  const WeightFiles files(folder);
  const ModelConfig& m = published_.model;
  files.require_room_for(published_);
  const ModelShape shape = shape_of(m, published_.context, std::max(longest, published_.context));
  const std::string text = encoding.empty() ? published_.encoding : encoding;
  model_ = std::make_unique<Model>(*backend_, m, compose(catalog, text, shape), 0,
                                   files.use(published_));
  files.load(published_, *model_);
}

Scores Checkpoint::score(std::span<const std::int32_t> tokens, const Inspection& look) {
  Batch b;
  b.size = 1, b.length = static_cast<int>(tokens.size());
  b.tokens.assign(tokens.begin(), tokens.end());
  b.targets.assign(tokens.begin() + 1, tokens.end());
  b.targets.push_back(0);  // of the last one only the likeliest is wanted
  StepInfo s;
  s.batch = 1, s.length = b.length;
  return model_->score(b, s, look);
}

}  // namespace pesuite::hf
