// Matrix products by oneDNN, created once a shape. The one place that knows oneDNN, in its 2.x and
// 3.x form.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backend/backend.h"

namespace pesuite {

struct Matrix {  // row-major as stored; `transposed`: the product uses its transpose
  const void* data;
  bool transposed;
  Storage storage = Storage::own;
};

class Products {
 public:
  Products(Precision, int threads);  // Error (device) where the processor lacks it
  ~Products();
  static std::string library();   // "oneDNN 2.6.3, avx512_core_bf16"

  // c [batch, M, N] = a b (+ bias [N]) (+ plus [M, N]) (+ c when `add`), each of the batch's
  // matrices packed one behind the other; a batch stride of 0 uses one matrix for all.
  struct Call {
    std::int64_t batch = 1, M, N, K;
    Matrix a, b;
    const float *bias = nullptr, *plus = nullptr;  // plus neither with add nor with a c in bf16
    void* c;
    Storage storage = Storage::own;  // of c
    bool add = false;
    bool one_a = false, one_b = false;  // the same a or b for the whole batch
    // b is read again soon: its packed form is kept, apart from other products; `same_b` uses that
    // of the latest product of this shape that kept it.
    bool keep_b = false, same_b = false;
  };
  void run(const Call&);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pesuite
