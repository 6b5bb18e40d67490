// Safetensors files and what checkpoints hold beside their weights.
#include "cell/cell.h"
#include "model/safetensors.h"
#include "model/train.h"
#include "tests/fuzz/fuzz.h"

namespace pesuite {

FUZZ_TARGET(checkpoint) {
  const fs::path file = fuzz::file_of(input, "x.safetensors");
  const SafetensorsReader reader(file);
  for (const auto& [name, entry] : reader.tensors())
    if (entry.shape.size() <= Shape::max_rank)
      reader.read(name, Shape::of(static_cast<int>(entry.shape.size()), entry.shape.data()));
  checkpoint_state(file);
  const CellConfig cell = read_cell(checkpoint_identity(file), file);
  PES_CHECK(cell_id(cell) == cell_id(cell_from_json(to_json(cell))));
  train_flops(cell);
  data_text(cell);
}

}  // namespace pesuite
