// Matrix products on a queue. On a device they are cuBLASLt's.
#pragma once

#include <memory>
#include <optional>

#include "backend/backend.h"
#include "backend/cuda/queue.h"
#include "backend/cuda/stored.h"

namespace pesuite::cuda {

// A matrix in row-major memory, `row` elements from a row to the next, `batch` to the next matrix.
struct Operand {
  const void* data = nullptr;
  Index row = 0;
  bool transposed = false;  // the product reads it with rows and columns exchanged
  Index batch = 0;
  Storage storage = Storage::own;

  Operand from_row(Index i) const {
    Operand o = *this;
    o.data = static_cast<const char*>(data) + i * row * stored_bytes(storage);
    return o;
  }
  Operand exchanged() const {
    Operand o = *this;
    o.transposed = !transposed;
    return o;
  }
};
// A part of x, from its number `first` on.
inline Operand operand(View x, Index first, Index row, bool transposed = false, Index batch = 0) {
  return {at(x, first), row, transposed, batch, x.storage};
}
// c [M, N] = scale a [M, K] b [K, N] + added + bias, batch by batch.
struct Product {
  Index M = 0, N = 0, K = 0;
  Operand a{}, b{};
  void* c = nullptr;
  Index c_row = 0, c_batch = 0;
  Index batches = 1;
  double scale = 1;
  const void* added = nullptr;     // laid out and stored like c; may be c
  const void* bias = nullptr;      // [N] in fp32
  Storage storage = Storage::own;  // of c

  // Into a part of y, from its number `first` on, replacing or adding as y says.
  void write(Out y, Index first, Index row, Index each = 0) {
    c = at(y, first), c_row = row, c_batch = each;
    added = y.add ? c : nullptr;
    storage = y.storage;
  }
};

using Halves = Scratch<std::uint16_t>;  // memory of numbers in 16 bits

class Products {
 public:
  // Inputs that are not stored as `precision` has them are rounded first; sums are in fp32.
  Products(Queue&, Precision precision);
  ~Products();
  void run(Queue&, const Product&);
  // What products make of a matrix of rows x columns before they read it, kept in `memory`: for one
  // that several of them read. Itself where they read it as it lies.
  Operand prepared(Queue&, const Operand&, Index rows, Index columns,
                   std::optional<Halves>& memory) const;

 private:
  struct Library;
  // a and b are stored alike, and the bias like c.
  void multiply(Queue&, const Product&);

  Precision precision_;
  std::unique_ptr<Library> library_;
};

// y [batches, rows, pitch], in bf16 or fp16 as `half` says, = x as it is stored, `pitch` elements a
// row with zeros at its end.
void round_to(Storage half, Queue&, void* y, const void* x, Storage, Index batches, Index batch,
              Index rows, Index row, Index columns, Index pitch);

}  // namespace pesuite::cuda
