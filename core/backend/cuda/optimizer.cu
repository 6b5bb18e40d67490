// AdamW.
#include <cmath>

#include "backend/cuda/cuda.h"

namespace pesuite::cuda {

namespace {

constexpr Index chunk = 4096;  // numbers of a block

// A block's part of the one parameter that it belongs to.
struct Part {
  const AdamRow& row;
  Index first, count;
};
struct Table {
  const AdamRow* row;
  Index rows;
  PESUITE_HD Part part(Index block) const {
    Index low = 0, high = rows;  // row[low].first <= block, and row[high].first is beyond it
    while (high - low > 1) {
      const Index middle = (low + high) / 2;
      (row[middle].first <= block ? low : high) = middle;
    }
    const Index first = (block - row[low].first) * chunk, left = row[low].count - first;
    return {row[low], first, left < chunk ? left : chunk};
  }
};

struct Squares {
  Table table;
  float* sums;  // [blocks]
  PESUITE_HD void operator()(Block& block) const {
    const Part p = table.part(block.index());
    const float* const x = p.row.grad + p.first;
    const float sum = block.sum(p.count, [&](Index i) { return x[i] * x[i]; });
    block.each(1, [&](Index) { sums[block.index()] = sum; });
  }
};
struct GlobalNorm {  // one block
  float* norm;
  const float* part;
  Index parts;
  double loss_scale;
  PESUITE_HD void operator()(Block& block) const {
    const double sum = block.combine(
        parts, 0.0, [&](Index i) { return static_cast<double>(part[i]); },
        [](double a, double b) { return a + b; });
    block.each(1, [&](Index) { *norm = static_cast<float>(std::sqrt(sum) / loss_scale); });
  }
};
// The norm stays on the device: each thread works the factor out again.
struct AdamUpdate {
  Table table;
  const float* norm;
  float beta1, beta2, eps, clip, rate, root, lr, loss_scale;
  PESUITE_HD void operator()(Block& block) const {
    const float total = *norm;
    if (!(total <= std::numeric_limits<float>::max())) return;
    const float factor = (clip > 0 && total > clip ? clip / total : 1) / loss_scale;
    const Part p = table.part(block.index());
    const AdamRow& r = p.row;
    const float decay = lr * r.weight_decay;
    block.each(p.count, [&](Index k) {
      const Index i = p.first + k;
      const float g = r.grad[i] * factor;
      const float mean = beta1 * r.m[i] + (1 - beta1) * g;
      const float square = beta2 * r.v[i] + (1 - beta2) * g * g;
      r.m[i] = mean;
      r.v[i] = square;
      const float value = r.value[i];
      const float next = value - (rate * mean / (std::sqrt(square) * root + eps) + decay * value);
      r.value[i] = next;
      if (r.rounded != nullptr) r.rounded[i] = static_cast<Bf16>(next);
    });
  }
};

}  // namespace

// Three launches, however many parameters there are.
void CudaBackend::adamw(Out norm, std::span<const Update> updates, const AdamW& o) {
  std::vector<AdamRow> rows;
  Index blocks = 0;
  for (const Update& u : updates) {
    const Index count = u.grad.shape.count();
    const auto& copy = rounded_[u.value.data];
    rows.push_back({target(u.value).data, target(u.m).data, target(u.v).data, in(u.grad),
                    copy ? copy->data() : nullptr, count, blocks,
                    static_cast<float>(u.weight_decay)});
    blocks += (count + chunk - 1) / chunk;
  }
  if (rows != adam_rows_) {  // in most steps they are those of the step before
    adam_table_.emplace(queue_, static_cast<Index>(rows.size()));
    queue_.upload(adam_table_->data(), rows.data(), rows.size() * sizeof(AdamRow));
    adam_rows_ = std::move(rows);
  }
  const Table table{adam_table_ ? adam_table_->data() : nullptr,
                    static_cast<Index>(adam_rows_.size())};
  const Scratch<float> sums(queue_, blocks);
  float* const total = target(norm).data;
  queue_.blocks(blocks, most_threads, Squares{table, sums.data()});
  queue_.blocks(1, most_threads, GlobalNorm{total, sums.data(), blocks, o.loss_scale});

  AdamUpdate s{};
  s.table = table, s.norm = total;
  s.beta1 = static_cast<float>(o.beta1), s.beta2 = static_cast<float>(o.beta2);
  s.eps = static_cast<float>(o.eps), s.clip = static_cast<float>(o.clip);
  s.rate = static_cast<float>(o.lr / (1 - std::pow(o.beta1, static_cast<double>(o.step))));
  s.root = static_cast<float>(1 / std::sqrt(1 - std::pow(o.beta2, static_cast<double>(o.step))));
  s.lr = static_cast<float>(o.lr), s.loss_scale = static_cast<float>(o.loss_scale);
  queue_.blocks(blocks, most_threads, s);
}

}  // namespace pesuite::cuda
