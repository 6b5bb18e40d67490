// data synth: the examples of a task as shards of tokens.
#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/data.h"
#include "cli/steps.h"
#include "data/likeness.h"
#include "data/shards.h"
#include "model/task.h"
#include "plugin/library.h"

namespace pesuite::cli {

namespace {

struct Synthesis {
  fs::path folder;
  data::Format format = data::Format::nanogpt;
  std::uint64_t shard_tokens = 0, train_tokens = 0, held_out_tokens = 0, seed = 0;
  std::int32_t length = 0;
  bool separate = true;
};

// Examples of a task as documents. Behind a token stands its answer, unless that is the next token
// anyway: answer y as token inputs + y, or as y itself where it ends an example of next tokens.
class Examples {
 public:
  Examples(const Task& task, std::uint64_t seed, std::int32_t length)
      : task_(task), seed_(seed), tokens_(static_cast<std::size_t>(length)), targets_(tokens_) {
    // Only asking tells whether answers stand in place; a task has one way for all of its examples.
    constexpr std::uint64_t asked = 64;
    for (std::uint64_t i = 0; i < asked && has(PES_SPLIT_TRAIN, i); ++i) {
      std::vector<data::Token> document;
      answers_ = answers_ || read(PES_SPLIT_TRAIN, i, document) > 0;
    }
    settled_ = true;
  }
  std::int64_t vocabulary() const {
    return task_.info().inputs + (answers_ ? task_.info().outputs : 0);
  }
  bool answers() const { return answers_; }
  bool has(pes_split split, std::uint64_t index) const {
    const std::int64_t n = task_.info().documents[split];
    return n <= 0 || index < static_cast<std::uint64_t>(n);
  }
  // Returns the number of answers that were put in.
  std::size_t read(pes_split split, std::uint64_t index, std::vector<data::Token>& document) {
    Task::Request r;
    r.split = split, r.seed = seed_, r.index = index;
    r.length = static_cast<std::int32_t>(tokens_.size());
    if (task_.is_corpus()) r.start = 0;
    task_.sample(r, tokens_, targets_);
    std::size_t n = tokens_.size(), put = 0;
    while (!task_.is_corpus() && n > 0 && tokens_[n - 1] == PES_PAD && targets_[n - 1] < 0) --n;
    const bool next_tokens = task_.info().head == PES_LM;
    document.clear();
    for (std::size_t t = 0; t < n; ++t) {
      document.push_back(static_cast<data::Token>(tokens_[t]));
      const std::int32_t y = targets_[t];
      if (y < 0 || (next_tokens && t + 1 < n && tokens_[t + 1] == y)) continue;
      if (next_tokens && t + 1 == n) {
        if (!task_.is_corpus()) document.push_back(static_cast<data::Token>(y));
        continue;
      }
      document.push_back(static_cast<data::Token>(task_.info().inputs + y));
      ++put;
    }
    if (put > 0 && !answers_ && settled_)
      fail(Exit::plugin, "task '{}': example {} does not hold its answers, and earlier ones do",
           task_.text(), index);
    return put;
  }

 private:
  const Task& task_;
  std::uint64_t seed_;
  std::vector<std::int32_t> tokens_, targets_;
  bool answers_ = false, settled_ = false;  // settled: the vocabulary is known
};

class Synthesizer {
 public:
  Synthesizer(const Task& task, const Synthesis& s)
      : task_(task), s_(s), examples_(task, s.seed, s.length) {
    m_.task = task.text();
    const std::int64_t own = examples_.vocabulary();
    m_.end_of_text = s.separate ? own : -1;
    m_.vocabulary = static_cast<std::uint32_t>(own + (s.separate ? 1 : 0));
    m_.bytes_per_token = m_.vocabulary > 65536 ? 4 : 2;
    m_.format = data::format_name(s.format);
    data::Source source;
    source.name = task.text(), source.origin = "pesuite data synth", source.version = version();
    m_.sources = {source};
  }

  // Into a folder beside it that gets the name when it is whole: what was interrupted leaves no
  // shards that a later call would count among its own.
  data::Manifest write(Steps& steps) {
    folder_ = s_.folder.string() + ".part";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    try {
      write_all(steps);
      fs::rename(folder_, s_.folder);
    } catch (...) {
      std::error_code ignored;
      fs::remove_all(folder_, ignored);
      throw;
    }
    return m_;
  }

 private:
  void write_all(Steps& steps) {
    // held-out examples are those that training has not, so training comes first
    write_split(steps, "train", PES_SPLIT_TRAIN, s_.train_tokens);
    if (s_.held_out_tokens > 0) write_split(steps, "val", PES_SPLIT_VALIDATION, s_.held_out_tokens);
    m_.sources[0].sha256 = data::identity_of(m_);
    m_.notes = {{"seed", s_.seed},
                {"tokens_of_an_example", s_.length},
                {"answers", examples_.answers() ? fmt::format("behind their tokens, as {} + answer",
                                                              task_.info().inputs)
                                                : "in place"},
                {"held_out_copies_left_out", left_out_}};
    write_file_atomic(folder_ / "tokens.txt", data::tokens_text(m_, bytes_of_tokens()));
    write_file_atomic(folder_ / "manifest.json", data::to_json(m_).dump(2) + "\n");
  }
  std::string version() const {
    return task_.card().version != nullptr ? task_.card().version : "";
  }
  std::vector<std::size_t> bytes_of_tokens() const {
    const std::int32_t* bytes = task_.info().token_bytes;
    if (bytes == nullptr) return {};
    std::vector<std::size_t> out(bytes, bytes + task_.info().inputs);
    out.resize(m_.vocabulary);  // neither answers nor the end of text are text
    return out;
  }
  std::size_t bytes_of(const std::vector<data::Token>& document) const {
    const std::int32_t* bytes = task_.info().token_bytes;
    std::size_t n = 0;
    for (const data::Token t : document)
      if (bytes != nullptr && t < static_cast<data::Token>(task_.info().inputs)) n += bytes[t];
    return n;
  }
  void write_split(Steps& steps, const char* name, pes_split split, std::uint64_t budget) {
    data::ShardWriter writer(folder_, name, s_.format, m_.bytes_per_token, s_.shard_tokens);
    std::uint64_t written = 0, copies = 0;
    std::vector<data::Token> document;
    for (std::uint64_t i = 0; written < budget; ++i) {
      if (!examples_.has(split, i)) break;
      examples_.read(split, i, document);
      if (s_.separate)
        document.insert(s_.format == data::Format::llmc ? document.begin() : document.end(),
                        static_cast<data::Token>(m_.end_of_text));
      const bool is_new = seen_.insert(data::content_hash(
          {reinterpret_cast<const char*>(document.data()), document.size() * sizeof(data::Token)}));
      if (split != PES_SPLIT_TRAIN && !is_new) {
        constexpr std::uint64_t most = 10'000;
        if (++copies > most && copies > i / 2 + most / 2) give_up(name, written, i);
        continue;
      }
      const std::size_t bytes = bytes_of(document);
      writer.add(document, bytes);
      written += document.size();
      ++m_.sources[0].documents, m_.sources[0].bytes += bytes;
      if (i % 1024 == 0)
        steps.at(fmt::format("writing {}: {} of {} tokens", name,
                             format_count(static_cast<double>(written)),
                             format_count(static_cast<double>(budget))));
    }
    left_out_ += copies;
    for (data::Shard& s : writer.finish()) m_.shards.push_back(std::move(s));
  }
  [[noreturn]] void give_up(const char* name, std::uint64_t written, std::uint64_t tried) const {
    fail(Exit::data,
         "of {} examples for split {} most occur in training: task '{}' has about {} distinct "
         "examples of {} tokens. Only {} tokens are new: ask for longer examples (--length), fewer "
         "tokens (--tokens) or no held-out ones (--validation-share 0)",
         tried, name, task_.text(), format_count(static_cast<double>(seen_.size())), s_.length,
         written);
  }

  const Task& task_;
  const Synthesis& s_;
  fs::path folder_;  // that is written
  Examples examples_;
  data::Manifest m_;
  data::HashSet seen_;
  std::uint64_t left_out_ = 0;
};

void add_flags_of_synth(Arguments& a) {
  add_output_flags(a);
  a.flags()("length", po::value<int>()->default_value(0),
            "tokens of an example; 0: a corpus's whole document, else 64")(
      "tokens", po::value<std::string>()->default_value("1M"), "tokens to write, of all splits")(
      "validation-share", po::value<double>()->default_value(0.05, "0.05"),
      "share of them that is held out; none of these occurs in training")(
      "seed", po::value<std::uint64_t>()->default_value(42), "seed of the examples")(
      "no-end-of-text", po::bool_switch(), "nothing between documents");
  a.positional("task");
}

Synthesis synthesis_of(const Arguments& a) {
  Synthesis s;
  s.folder = a.text("output"), s.format = data::format_named(a.text("format"));
  s.shard_tokens = shard_tokens_of(a);
  s.seed = a.get<std::uint64_t>("seed"), s.length = a.count("length");
  s.separate = !a.flag("no-end-of-text");
  double tokens = 0;
  if (!parse_count(a.text("tokens"), tokens) || tokens < 1000 || tokens > 1e12)
    fail(Exit::usage, "--tokens is '{}', and is a number like 10M, from 1000 on", a.text("tokens"));
  const double held_out = share_of(a, "validation-share");
  s.held_out_tokens = static_cast<std::uint64_t>(tokens * held_out);
  s.train_tokens = static_cast<std::uint64_t>(tokens) - s.held_out_tokens;
  return s;
}

// What it is made for hangs on the length, which of a corpus hangs on what it is.
Task task_of_length(const Catalog& catalog, const Expression& e, std::int32_t& length) {
  constexpr std::int32_t usual = 64;
  if (length == 0) {
    const Task probed(catalog, e, usual, usual);
    length = probed.is_corpus() ? static_cast<std::int32_t>(probed.info().document) : usual;
  }
  return {catalog, e, length, length};
}

}  // namespace

int synth_verb(const std::vector<std::string>& words) {
  Arguments a(
      "data synth TASK --output FOLDER [flags]",
      "Writes examples of a task as shards of tokens, each a document, which 'tokens' trains "
      "on. An answer that is not the next token anyway stands behind its token, as the size "
      "of the alphabet plus the answer.");
  add_flags_of_synth(a);
  if (!a.parse(words)) return 0;
  a.require("task", "a task, e.g. 'ledger' or 'copy(symbols=16)'; 'pesuite list task' shows all");
  a.require("output", "the folder to write");
  Synthesis s = synthesis_of(a);
  while (!s.folder.has_filename()) s.folder = s.folder.parent_path();  // "x/"
  if (fs::exists(s.folder / "manifest.json"))
    fail(Exit::data, "{} holds shards already; name another folder", s.folder.string());
  if (fs::exists(s.folder) && !(fs::is_directory(s.folder) && fs::is_empty(s.folder)))
    fail(Exit::data, "{} is there and is no empty folder; name another", s.folder.string());
  const Catalog catalog = open_catalog(plugin_search_path(a.plugin_path()));
  const Task task = task_of_length(catalog, parse_expression(a.text("task"), "task"), s.length);
  data::Manifest m;
  {
    Steps steps("making examples");
    m = Synthesizer(task, s).write(steps);
  }
  print_splits(m);
  return 0;
}

}  // namespace pesuite::cli
