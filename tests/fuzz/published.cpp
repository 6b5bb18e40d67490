// config.json of published checkpoints, and which tensors a model of it has.
#include "hf/weights.h"
#include "tests/fuzz/fuzz.h"

namespace pesuite {

FUZZ_TARGET(published) {
  const fs::path file = fuzz::file_of(input, "config.json");
  const hf::Published p = hf::read_config(file.parent_path());
  PES_CHECK(!p.encoding.empty() && p.context > 0 && parameter_count(p.model) > 0);
  const ModelConfig& m = p.model;
  const std::int64_t W = m.width, qkv = (m.heads + 2 * m.groups()) * m.head_dim();
  hf::pieces_of(p, "embedding.weight", {m.vocabulary, W});
  std::int64_t rows = 0;
  for (const hf::Piece& piece : hf::pieces_of(p, "layers.0.attention.qkv.weight", {qkv, W}))
    rows += piece.shape[piece.rows == hf::Rows::transposed ? 1 : 0];
  PES_CHECK(rows == qkv);
}

}  // namespace pesuite
