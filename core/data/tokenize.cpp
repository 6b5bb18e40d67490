#include "data/tokenize.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/seal.h"
#include "base/text.h"
#include "data/likeness.h"
#include "data/phrases.h"

namespace pesuite::data {

namespace {

constexpr std::uint64_t batch_bytes = 1 << 20;         // text that a thread takes at once
constexpr std::uint64_t checkpoint_bytes = 256 << 20;  // text between checkpoints
constexpr std::size_t most_sketches = 4'000'000;       // 190 MB

enum Split : std::uint8_t { train, validation, filler };

// What is kept of a document after its tokens are written.
struct Trace {
  std::uint64_t hash;
  Sketch sketch;
  std::uint8_t split;
  std::uint8_t kept;   // no copy of an earlier one
  std::uint8_t exact;  // decodes to its text, as far as UTF-8 is concerned
};

struct Item {
  std::string text;
  Trace trace{};
  std::vector<Token> tokens;
};
struct Batch {
  std::vector<Item> items;
  Cursor after;  // where the next document begins
  std::uint64_t bytes_read = 0;
};

// Tokens that stand for a single byte each; -1 where there is none.
using ByteTokens = std::array<std::int64_t, 256>;
ByteTokens byte_tokens(const text::Tokenizer& t) {
  ByteTokens out;
  out.fill(-1);
  for (Token id = 0; id < t.vocabulary(); ++id)
    if (const std::string text = text_of(t, id);
        text.size() == 1 && out[static_cast<unsigned char>(text[0])] < 0)
      out[static_cast<unsigned char>(text[0])] = id;
  return out;
}

// What is no UTF-8 is written byte by byte, so that decoding gives it back. False where the
// tokenizer has no token for such a byte, and reads it in its own way.
bool encode_exactly(const text::Tokenizer& t, const ByteTokens& bytes, std::string_view text,
                    std::vector<Token>& ids) {
  bool exact = true;
  while (!text.empty()) {
    const std::size_t valid = utf8_prefix(text);
    if (valid > 0) t.encode(text.substr(0, valid), ids);
    text.remove_prefix(valid);
    if (text.empty()) break;
    if (const std::int64_t id = bytes[static_cast<unsigned char>(text[0])]; id >= 0) {
      ids.push_back(static_cast<Token>(id));
    } else {
      t.encode(text.substr(0, 1), ids);
      exact = false;
    }
    text.remove_prefix(1);
  }
  return exact;
}

// A share of all hashes, in an order that has nothing to do with the hash table's.
double unit_of(std::uint64_t hash) {
  hash = (hash ^ (hash >> 31)) * 0x7fb5d329728ea185u;
  return static_cast<double>((hash ^ (hash >> 27)) >> 11) * 0x1p-53;
}

// Encodes batches on several threads and hands them on in the order in which they came.
class Team {
 public:
  Team(int threads, std::function<void(Batch&)> work) : work_(std::move(work)) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  }
  ~Team() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& t : threads_) t.join();
  }
  std::size_t waiting() const { return jobs_.size(); }  // put and not taken
  std::size_t most() const { return 3 * threads_.size(); }
  void put(Batch batch) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(batch), State::waiting, nullptr});
    changed_.notify_all();
  }
  Batch take() {  // the oldest, when it is done; what its thread threw
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return jobs_.front().state == State::done; });
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    if (job.error) std::rethrow_exception(job.error);
    return std::move(job.batch);
  }

 private:
  enum class State { waiting, taken, done };
  struct Job {
    Batch batch;
    State state;
    std::exception_ptr error;
  };
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto next = [this] {
        return std::find_if(jobs_.begin(), jobs_.end(),
                            [](const Job& j) { return j.state == State::waiting; });
      };
      changed_.wait(lock, [&] { return ended_ || next() != jobs_.end(); });
      if (ended_) return;
      Job& job = *next();  // a deque's elements stay where they are
      job.state = State::taken;
      lock.unlock();
      try {
        work_(job.batch);
      } catch (...) {
        job.error = std::current_exception();
      }
      lock.lock();
      job.state = State::done;
      changed_.notify_all();
    }
  }

  std::function<void(Batch&)> work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

class Tokenizing {
 public:
  Tokenizing(const TokenizeOptions& o, const fs::path& folder) : o_(o), folder_(folder) {
    tokenizer_ = text::open_tokenizer(o.tokenizer);
    bytes_per_token_ = tokenizer_->vocabulary() > 65536 ? 4 : 2;
    byte_tokens_ = byte_tokens(*tokenizer_);
    for (std::size_t s = 0; s < split_names.size(); ++s)
      writers_.push_back(std::make_unique<ShardWriter>(s == train ? folder : held_out(),
                                                       split_names[s], o.format, bytes_per_token_,
                                                       o.shard_tokens));
    list_inputs();
  }

  bool all(const std::atomic<bool>& stop,
           const std::function<void(const TokenizeProgress&)>& progress, Manifest& out) {
    if (fs::exists(folder_ / "manifest.json")) {
      out = read_manifest(folder_);
      if (out.notes.value("settings", "") == settings()) return true;
      fail(Exit::data, "{} holds shards of other text or settings already; name another folder",
           folder_.string());
    }
    fs::create_directories(folder_);
    resume();
    fs::create_directories(held_out());
    read_all(stop, progress);
    if (stop) return false;
    checkpoint();
    finish(out);
    return true;
  }

 private:
  fs::path state_file() const { return folder_ / "tokenize.state"; }
  fs::path traces_file() const { return folder_ / "tokenize.traces"; }
  fs::path held_out() const { return folder_ / "tokenize.held_out"; }

  // Of the folder of an import the files' names say what they are for.
  void list_inputs() {
    const auto files = open_documents(o_.paths, o_.documents)->files();
    std::vector<fs::path> rest, named[3];
    for (const fs::path& f : files) {
      const std::string name = f.filename();
      const auto begins = [&](std::string_view word) {
        return name.starts_with(word) && name.size() > word.size() &&
               std::string_view("-_.").find(name[word.size()]) != std::string_view::npos;
      };
      if (begins("validation") || begins("valid") || begins("val"))
        named[validation].push_back(f);
      else if (begins("filler"))
        named[filler].push_back(f);
      else
        rest.push_back(f);
    }
    documents_ = o_.documents;
    documents_.only_text = std::any_of(o_.paths.begin(), o_.paths.end(),
                                       [](const fs::path& path) { return fs::is_directory(path); });
    divided_ = named[validation].empty() && o_.validation.empty();
    inputs_[train] = rest;
    inputs_[validation] = o_.validation, inputs_[filler] = o_.filler;
    for (const Split s : {validation, filler})
      inputs_[s].insert(inputs_[s].end(), named[s].begin(), named[s].end());
    if (rest.empty())
      fail(Exit::data,
           "no file is left to train on: all names begin with 'validation' or 'filler'");
  }

  // What a folder is made of: another call with the same settings goes on.
  std::string settings() const {
    std::string all =
        fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}", tokenizer_->digest(), o_.validation_share,
                    o_.filler_share, format_name(o_.format), o_.shard_tokens, o_.separate,
                    o_.drop_near, o_.documents.field, o_.documents.separator);
    for (const Split s : {train, validation, filler})
      for (const fs::path& p : inputs_[s])
        all += fmt::format("|{}:{}:{}", static_cast<int>(s), fs::absolute(p).string(),
                           fs::is_regular_file(p) ? fs::file_size(p) : 0);
    return sha256(all);
  }

  void resume() {
    if (o_.restart) clear();
    if (!fs::exists(state_file())) return clear();
    const Json state = Json::parse(read_sealed(state_file()));
    if (state.at("settings") != settings())
      fail(Exit::data,
           "{} holds what an interrupted call with other text or settings left; --restart forgets "
           "it, or name another folder",
           folder_.string());
    part_ = state.at("part");
    cursor_ = {state.at("file"), state.at("bytes")};
    seen_text_ = state.at("text");
    for (std::size_t s = 0; s < writers_.size(); ++s) writers_[s]->resume(state.at("splits").at(s));
    const std::string bytes = read_file(traces_file());
    const std::size_t n = state.at("traces");
    if (bytes.size() < n * sizeof(Trace))
      fail(Exit::data, "{} is shorter than the checkpoint says; --restart begins anew",
           traces_file().string());
    traces_.resize(n);
    std::memcpy(traces_.data(), bytes.data(), n * sizeof(Trace));
    for (const Trace& t : traces_) known_.insert(t.hash);
    fs::resize_file(traces_file(), n * sizeof(Trace));
    written_traces_ = n;
  }

  void clear() {
    std::error_code ignored;
    for (const fs::path& file : {state_file(), traces_file(), held_out()})
      fs::remove_all(file, ignored);
    for (const auto& item : fs::directory_iterator(folder_)) {
      const std::string name = item.path().filename();
      for (const char* split : split_names)
        if (name.starts_with(std::string(split) + "_") &&
            (name.ends_with(".bin") || name.ends_with(".idx") || name.ends_with(".part")))
          fs::remove(item.path());
    }
  }

  void checkpoint() {
    for (auto& w : writers_) w->sync();
    append_file(traces_file(), {reinterpret_cast<const char*>(traces_.data() + written_traces_),
                                (traces_.size() - written_traces_) * sizeof(Trace)});
    written_traces_ = traces_.size();
    Json splits = Json::array();
    for (const auto& w : writers_) splits.push_back(w->state());
    write_sealed(state_file(), Json{{"settings", settings()},
                                    {"part", part_},
                                    {"file", cursor_.file},
                                    {"bytes", cursor_.bytes},
                                    {"text", seen_text_},
                                    {"traces", traces_.size()},
                                    {"splits", std::move(splits)}}
                                   .dump());
  }

  void encode(Batch& batch, Split only) const {
    for (Item& item : batch.items) {
      Trace& t = item.trace;
      t.hash = content_hash(item.text);
      t.sketch = sketch_of(item.text);
      const double u = unit_of(t.hash);
      t.split = only;
      if (only == train && divided_ && u < o_.validation_share) t.split = validation;
      if (only == train && u >= 1 - o_.filler_share) t.split = filler;
      const std::int64_t end = o_.separate ? tokenizer_->end_of_text() : -1;
      const bool before = o_.format == Format::llmc;  // as its writer does
      item.tokens.reserve(item.text.size() / 3 + 16);
      if (end >= 0 && before) item.tokens.push_back(static_cast<Token>(end));
      t.exact = encode_exactly(*tokenizer_, byte_tokens_, item.text, item.tokens) ? 1 : 0;
      if (end >= 0 && !before) item.tokens.push_back(static_cast<Token>(end));
    }
  }

  void read_all(const std::atomic<bool>& stop,
                const std::function<void(const TokenizeProgress&)>& progress) {
    for (; part_ < 3; ++part_, cursor_ = {}) {
      const auto only = static_cast<Split>(part_);
      if (inputs_[only].empty()) continue;
      const auto documents = open_documents(inputs_[only], documents_, cursor_);
      Team team(o_.threads, [&](Batch& b) { encode(b, only); });
      std::uint64_t since = 0;  // the last checkpoint
      bool more = true;
      while (more || team.waiting() > 0) {
        while (more && team.waiting() < team.most()) more = put_next(*documents, team);
        if (team.waiting() == 0) break;
        const Batch batch = team.take();
        for (const Item& item : batch.items) write(item), since += item.text.size();
        cursor_ = batch.after;
        progress({batch.bytes_read, documents->bytes(), traces_.size(), seen_text_});
        if (stop || since >= checkpoint_bytes) checkpoint(), since = 0;
        if (stop) return;
      }
    }
  }

  static bool put_next(Documents& documents, Team& team) {
    Batch batch;
    std::uint64_t bytes = 0;
    bool more = true;
    while (bytes < batch_bytes || documents.inside()) {
      Document d;
      if (more = documents.next(d); !more) break;
      bytes += d.text.size() + sizeof(Item);
      if (!d.text.empty()) batch.items.push_back({std::move(d.text), {}, {}});
    }
    batch.after = documents.cursor();
    batch.bytes_read = documents.bytes_read();
    if (!batch.items.empty()) team.put(std::move(batch));
    return more;
  }

  void write(const Item& item) {
    Trace t = item.trace;
    t.kept = known_.insert(t.hash) ? 1 : 0;
    traces_.push_back(t);
    seen_text_ += item.text.size();
    if (t.kept == 0) return;
    writers_[t.split]->add(item.tokens, item.text.size());
  }

  void finish(Manifest& m) {
    m.tokenizer = tokenizer_->name(), m.tokenizer_sha256 = tokenizer_->digest();
    m.vocabulary = tokenizer_->vocabulary();
    m.end_of_text = o_.separate ? tokenizer_->end_of_text() : -1;
    m.format = format_name(o_.format), m.bytes_per_token = bytes_per_token_;
    const std::vector<Trace> kept = kept_traces();
    count_copies(kept, m);
    m.shards = writers_[train]->finish();
    for (const Split s : {validation, filler})
      for (Shard& shard : without_near(s, kept)) m.shards.push_back(std::move(shard));
    check_splits(m);
    m.notes["settings"] = settings();
    describe_sources(m);
    keep_tokenizer(o_.tokenizer, folder_, m);
    write_file_atomic(folder_ / "tokens.txt", tokens_text(m, *tokenizer_));
    write_file_atomic(folder_ / "phrases.txt", phrases_text(*tokenizer_));
    write_file_atomic(folder_ / "manifest.json", to_json(m).dump(2) + "\n");
    for (const fs::path& file : {state_file(), traces_file(), held_out()}) fs::remove_all(file);
  }

  std::vector<Trace> kept_traces() const {
    std::vector<Trace> kept;
    for (const Trace& t : traces_)
      if (t.kept != 0) kept.push_back(t);
    return kept;
  }

  void count_copies(const std::vector<Trace>& kept, Manifest& m) {
    std::vector<Sketch> sketches;
    std::vector<std::uint8_t> splits;
    for (std::size_t i = 0; i < std::min(kept.size(), most_sketches); ++i)
      sketches.push_back(kept[i].sketch), splits.push_back(kept[i].split);
    const auto near = near_earlier(sketches);
    near_other_ = near_other(sketches, splits);
    near_other_.resize(kept.size());
    m.notes["documents_not_exact"] =
        std::count_if(kept.begin(), kept.end(), [](const Trace& t) { return t.exact == 0; });
    m.notes["exact_copies_left_out"] = traces_.size() - kept.size();
    m.notes["near_duplicates"] = std::count(near.begin(), near.end(), true);
    m.notes["held_out_near_duplicates"] = std::count(near_other_.begin(), near_other_.end(), true);
    m.notes["held_out_near_duplicates_dropped"] = o_.drop_near;
    m.notes["documents_compared"] = sketches.size();
  }

  // Held-out documents stand apart until it is known which of them are nearly ones of train (or, of
  // filler, of validation).
  std::vector<Shard> without_near(Split s, const std::vector<Trace>& kept) {
    std::vector<bool> drop;
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (kept[i].split == s) drop.push_back(o_.drop_near && near_other_[i]);
    ShardWriter writer(folder_, split_names[s], o_.format, bytes_per_token_, o_.shard_tokens);
    std::size_t d = 0;
    for (const Shard& shard : writers_[s]->finish()) {
      const OpenShard from(held_out(), shard, bytes_per_token_);
      for (std::uint64_t i = 0; i < from.documents(); ++i, ++d) {
        if (drop[d]) continue;
        const std::vector<Token> tokens = from.document(i);
        writer.add(tokens, tokenizer_->decode(tokens, true).size());
      }
    }
    return writer.finish();
  }

  void check_splits(const Manifest& m) const {
    for (const Split s : {train, validation, filler}) {
      const double share = s == validation ? (divided_ ? o_.validation_share : 1.0)
                           : s == filler   ? o_.filler_share
                                           : 1.0;
      const bool any = std::any_of(m.shards.begin(), m.shards.end(),
                                   [&](const Shard& x) { return x.split == split_names[s]; });
      if (any || share == 0) continue;
      fail(Exit::data,
           "no document came into '{}': {} documents are too few to divide; name files with "
           "--validation or --filler, give a larger share, or cut documents at a line with "
           "--separator",
           split_names[s], known_.size());
    }
  }

  void describe_sources(Manifest& m) const {
    Source s;
    std::vector<std::string> names;
    for (const fs::path& p : o_.paths) names.push_back(p.string());
    s.name = s.origin = join(names, ", ");
    s.licence = o_.licence;
    std::string hashes;
    for (const Trace& t : traces_) hashes += fmt::format("{:016x}", t.hash);
    s.documents = traces_.size(), s.bytes = seen_text_, s.sha256 = sha256(hashes);
    m.sources.push_back(std::move(s));
    for (const fs::path& p : o_.paths)
      if (const fs::path file = p / "source.json"; fs::exists(file))
        m.notes["imports"].push_back(Json::parse(read_file(file), nullptr, false));
  }

  const TokenizeOptions& o_;
  fs::path folder_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  ByteTokens byte_tokens_;
  int bytes_per_token_ = 2;
  std::vector<fs::path> inputs_[3];
  DocumentOptions documents_;
  bool divided_ = true;  // validation comes from the documents to train on
  std::vector<std::unique_ptr<ShardWriter>> writers_;
  std::vector<Trace> traces_;
  std::size_t written_traces_ = 0;
  HashSet known_;
  std::vector<bool> near_other_;
  int part_ = 0;  // split whose files are read
  Cursor cursor_;
  std::uint64_t seen_text_ = 0;
};

}  // namespace

bool tokenize(const TokenizeOptions& options, const fs::path& folder, const std::atomic<bool>& stop,
              const std::function<void(const TokenizeProgress&)>& progress, Manifest& out) {
  return Tokenizing(options, folder).all(stop, progress, out);
}

}  // namespace pesuite::data
