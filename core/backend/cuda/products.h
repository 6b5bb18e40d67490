// Matrix products on a queue. On a device they are cuBLASLt's.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "backend/cuda/queue.h"

namespace pesuite::cuda {

// A matrix in row-major memory, `row` elements from a row to the next, `batch` to the next matrix.
struct Operand {
  const float* data = nullptr;
  Index row = 0;
  bool transposed = false;  // the product reads it with rows and columns exchanged
  Index batch = 0;
};
// c [M, N] = scale a [M, K] b [K, N] + added + bias, batch by batch.
struct Product {
  Index M = 0, N = 0, K = 0;
  Operand a{}, b{};
  float* c = nullptr;
  Index c_row = 0, c_batch = 0;
  Index batches = 1;
  double scale = 1;
  const float* added = nullptr;  // laid out like c; may be c
  const float* bias = nullptr;   // [N]
};

class Products {
 public:
  // Inputs are rounded to bf16 first where `precision` is; sums are in fp32 in any case.
  Products(Queue&, Precision precision);
  ~Products();
  void run(Queue&, const Product&);

 private:
  struct Library;
  void multiply(Queue&, const Product&, const void* a, const void* b);

  Precision precision_;
  std::unique_ptr<Library> library_;
};

// y [batches, rows, pitch] in bf16 = x, `pitch` elements a row with zeros at its end.
void round_to_bf16(Queue&, void* y, const float* x, Index batches, Index batch, Index rows,
                   Index row, Index columns, Index pitch);

}  // namespace pesuite::cuda
