// How a model reads tokens behind caches: model.h.
#include <algorithm>

#include "base/error.h"
#include "model/cache.h"
#include "model/model.h"

namespace pesuite {

std::vector<double> Model::read(Cache& c, std::span<const std::int32_t> tokens) {
  PES_CHECK(!tokens.empty() && std::ssize(tokens) % c.batch_ == 0);
  const int n = static_cast<int>(std::ssize(tokens)) / c.batch_, to = c.length_ + n;
  c.add(tokens, n);
  if (c.length_ > 0 && encoding_.stale(c.length_, to)) c.length_ = 0, ++c.rereads_;
  if (c.failed_) c.forget();
  for (;;) {
    c.added_ = to - c.length_;
    Cache* const alone = &c;
    std::vector<double> logits = read_behind({&alone, 1});
    if (!logits.empty()) return logits;
    c.forget();
  }
}

std::vector<double> Model::read(std::span<Cache* const> caches,
                                std::span<const std::int32_t> tokens) {
  const auto held = [this](const Cache* c) {
    return c->length_ > 0 && !encoding_.stale(c->length_, c->length_ + 1);
  };
  std::size_t rows_of_all = 0;
  for (const Cache* c : caches) rows_of_all += static_cast<std::size_t>(c->batch_);
  PES_CHECK(!caches.empty() && tokens.size() == rows_of_all);
  std::vector<double> all;
  if (caches.size() > 1 && std::ranges::all_of(caches, held)) {
    std::size_t row = 0;
    for (Cache* c : caches) {
      const auto rows = static_cast<std::size_t>(c->batch_);
      c->add(tokens.subspan(row, rows), 1);
      c->added_ = 1;
      row += rows;
    }
    all = read_behind(caches);
    if (!all.empty()) return all;
  }
  std::size_t row = 0;
  for (Cache* c : caches) {
    const auto rows = static_cast<std::size_t>(c->batch_);
    const std::vector<double> logits = read(*c, tokens.subspan(row, rows));
    all.insert(all.end(), logits.begin(), logits.end());
    row += rows;
  }
  return all;
}

void Model::begin_readings(std::span<Cache* const> caches) {
  while (more_encodings_.size() + 1 < caches.size()) more_encodings_.push_back(encoding_.again());
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const Cache& c = *caches[i];
    const int seen = c.sequence_ ? 0 : c.length_;  // that the encoding need not see
    StepInfo s;
    s.batch = c.batch_, s.offset = seen, s.length = c.length_ + c.added_ - seen;
    Composition& encoding = i == 0 ? encoding_ : more_encodings_[i - 1];
    if (i == 0)
      begin(s, false);
    else
      encoding.begin(tape_, s, std::span(leaves_).subspan(encoding_first_));
    readings_.push_back({caches[i], &encoding, s});
  }
  reading_ = readings_.data();
  needed_from_ = caches[0]->added_ - 1;  // the logits of each sequence's last token
  set_starts({}, caches[0]->batch_, caches[0]->added_, caches[0]->length_);
}

Tensor Model::embedded(const Reading& r) {
  const Cache& c = *r.cache;
  const int first = c.sequence_ && r.encoding->embeds() ? 0 : c.length_;  // token to embed
  const int to = c.length_ + c.added_;
  std::vector<std::int32_t> tokens;
  for (int b = 0; b < c.batch_; ++b) {
    const auto row = c.tokens_.begin() + std::ptrdiff_t{b} * c.longest_;
    tokens.insert(tokens.end(), row + first, row + to);
  }
  const Tensor x = r.encoding->embed(tape_, embedded(tokens, {c.batch_, to - first}));
  return first < c.length_ ? ops::slice(tape_, x, 1, c.length_, c.added_) : x;
}

std::vector<double> Model::read_behind(std::span<Cache* const> caches) {
  const auto end = [](Model* m) { m->readings_.clear(), m->reading_ = nullptr; };
  const std::unique_ptr<Model, decltype(end)> while_it_reads(this, end);
  begin_readings(caches);
  path_ = AttentionPath::fused;
  Tensor x;
  for (const Reading& r : readings_) {
    const Tensor own = embedded(r);
    x = x ? ops::concat(tape_, x, own, 0) : own;
  }
  const Tape::Mark mark = tape_.mark();
  for (int i = 0; i < config_.layers && x; ++i) {
    x = layer(x, i, readings_[0].step, {});
    if (x) tape_.release_since(mark, x);
  }
  if (tape_.failed()) fail(Exit::internal, "{}", tape_.failure());
  if (!x) return {};
  const Tensor h = normed(last_of_each(x), norm_, norm_bias_);
  std::vector<double> logits = logits_of(h);
  for (Cache* c : caches) c->length_ += c->added_;
  return logits;
}

// Rows of h and qkv are those of one reading after the other.
Tensor Model::mix_each(Tensor h, Tensor qkv, int index, const StepInfo& s) {
  Tensor all;
  std::int64_t row = 0;
  for (const Reading& r : readings_) {
    const std::int64_t rows = r.cache->batch_;
    reading_ = &r;
    set_starts({}, r.cache->batch_, r.cache->added_, r.cache->length_);
    Tensor own = tape_.later({rows, r.cache->added_, config_.width}, [h, row, rows](Tape& t) {
      return ops::slice(t, ops::own(t, h), 0, row, rows);
    });
    Tensor x = own;
    const Tensor mixed = mix(x, own, ops::slice(tape_, qkv, 0, row, rows), index, s, {});
    if (!mixed) return {};
    const Tensor whole = ops::own(tape_, mixed);
    all = all ? ops::concat(tape_, all, whole, 0) : whole;
    row += rows;
  }
  return all;
}

// From the last layer's keys and values on there is nothing to do for tokens that nobody asks of.
void Model::keep_needed(Tensor& x, Tensor& h, Attention& a) {
  const std::int64_t rows = tape_.shape(x)[1] - needed_from_;
  x = ops::slice(tape_, x, 1, needed_from_, rows);
  if (config_.shared_norm) h = ops::slice(tape_, ops::own(tape_, h), 1, needed_from_, rows);
  a.skipped = needed_from_;
}

Tensor Model::last_of_each(Tensor x) {
  const Shape s = tape_.shape(x);
  std::vector<double> at;
  for (std::int64_t b = 0; b < s[0]; ++b) at.push_back(static_cast<double>((b + 1) * s[1] - 1));
  return rows_of(x, tape_.constant({s[0]}, at.data()));
}

}  // namespace pesuite
