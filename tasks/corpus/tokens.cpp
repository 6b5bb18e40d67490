// Text as token shards: what 'pesuite data tokenize' wrote, or files of nanoGPT and llm.c. An
// example is a window of the training shards; the target is the next token.
#include <pesuite/pesuite.hpp>

#include "text_source.h"
#include "token_folder.h"

namespace {

std::string of_tokens(std::uint64_t n) {
  return std::to_string(n) + " tokens";
}

// A permutation of 0 .. n - 1 named by a key: four rounds of a Feistel network, walked until the
// result is below n (Black and Rogaway 2002). Nothing of it is stored, so every process knows the
// place of every example.
std::uint64_t permuted(std::uint64_t i, std::uint64_t n, std::uint64_t key) {
  int half = 1;
  while ((std::uint64_t{1} << (2 * half)) < n) ++half;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  do {
    std::uint64_t left = i >> half, right = i & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = left ^ (pes::mix64(key + round, right) & mask);
      left = right, right = next;
    }
    i = left << half | right;
  } while (i >= n);
  return i;
}

struct Tokens : pes::Task {
  static constexpr pes_option options[] = {
      pes::text("path", "", "a folder that 'pesuite data tokenize' wrote, or of .bin files"),
      pes::choice("align", "anywhere", "anywhere|document",
                  "where training windows begin: anywhere, each token once an epoch; or at the "
                  "beginning of a document"),
      pes::flag("document_mask", "false",
                "tokens attend to their own document alone, which begins at the end of the text "
                "before it"),
      pes::choice("held_out", "packed", "packed|whole",
                  "documents to validate and test on: stretches of the held-out shards whatever "
                  "they hold, or parts of single documents that are long enough"),
      pes::integer("document", "0", 0, 1 << 30,
                   "tokens of a document; 0: as many as the evaluation reaches"),
      pes::integer("vocabulary", "0", 0, 1 << 30, "tokens, of a folder without tokens.txt"),
      pes::integer("end_of_text", "-1", -1, 1 << 30, "the same: the end of text, -1: none"),
      pes::integer("raw_bytes", "2", 2, 4, "the same: bytes of a token in files without header")};
  static constexpr pes_card card = pes::card<Tokens>(
      {.name = "tokens", .summary = "text as shards of tokens", .taxonomy = "language"});

  tokens::Folder folder;
  bool at_documents, whole;
  std::uint64_t held_out_documents = 0;  // to validate and to test on, one each in turn
  std::vector<std::uint64_t> parts;      // where they begin, of whole documents

  Tokens(const pes_use& use, const pes::Values& v)
      : at_documents(std::string_view(v.text("align")) == "document"),
        whole(std::string_view(v.text("held_out")) == "whole") {
    const std::filesystem::path path = text::at_home(v.text("path"));
    if (path.empty()) throw pes::Refusal("needs text: path='FOLDER' of token shards");
    tokens::Foreign foreign;
    foreign.vocabulary = static_cast<std::int32_t>(v.integer("vocabulary"));
    foreign.end_of_text = v.integer("end_of_text");
    foreign.raw_bytes = v.integer("raw_bytes") == 4 ? 4 : 2;
    folder = tokens::open(path, foreign);
    document = v.integer("document") > 0 ? v.integer("document") : use.reach;
    inputs = outputs = folder.vocabulary;
    head = PES_LM;
    token_bytes = folder.token_bytes;
    require_size(use);
    if (v.flag("document_mask"))
      separator = static_cast<std::int32_t>(end_of_text("document_mask"));
    find_held_out();
    documents[PES_SPLIT_VALIDATION] = static_cast<std::int64_t>((held_out_documents + 1) / 2);
    documents[PES_SPLIT_TEST] = static_cast<std::int64_t>(held_out_documents / 2);
    digest = folder.digest;
    note = std::to_string(folder.shards) + (folder.shards == 1 ? " shard; " : " shards; ") +
           of_tokens(folder.train.size()) + " to train on, " + of_tokens(folder.held_out.size()) +
           " to validate and test on";
  }

  // Each document needs one token more, the target of its last one.
  std::uint64_t span() const { return static_cast<std::uint64_t>(document) + 1; }

  void require_size(const pes_use& use) const {
    if (use.max_length > document)
      throw pes::Refusal("lengths up to " + std::to_string(use.max_length) +
                         " do not fit into documents of " +
                         of_tokens(static_cast<std::uint64_t>(document)));
    const auto longest = static_cast<std::uint64_t>(use.train_length);
    if (folder.train.size() < 2 * longest + 1)
      throw pes::Refusal("the training shards have " + of_tokens(folder.train.size()) +
                         ", too few for windows of " + of_tokens(longest));
    if (at_documents) end_of_text("align=document");
  }

  std::int64_t end_of_text(const std::string& wanted_by) const {
    if (folder.end_of_text < 0)
      throw pes::Refusal(wanted_by + " needs an end of text, and this folder names none");
    return folder.end_of_text;
  }

  void find_held_out() {
    const tokens::Stream& held_out = folder.held_out;
    if (whole) {
      std::vector<std::uint64_t> begins = held_out.documents(folder.end_of_text, folder.end_before);
      begins.push_back(held_out.size());
      for (std::uint64_t part = 0, found = 1; found > 0; ++part) {  // first parts first
        found = 0;
        for (std::size_t d = 0; d + 1 < begins.size(); ++d)
          if (begins[d] + (part + 1) * span() <= begins[d + 1])
            parts.push_back(begins[d] + part * span()), ++found;
      }
    }
    held_out_documents = whole ? parts.size() : held_out.size() / span();
    if (held_out_documents < 2)
      throw pes::Refusal(
          "the held-out shards have " + of_tokens(held_out.size()) + " and " +
          (whole
               ? "in them " + std::to_string(held_out_documents) + " parts of single documents of "
               : "room for " + std::to_string(held_out_documents) + " documents of ") +
          of_tokens(span()) +
          ", and two are needed at least: hold out more text, or shorten what is "
          "evaluated");
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const std::size_t length = e.tokens.size();
    const auto from = static_cast<std::uint64_t>(std::max<std::int64_t>(r.start, 0));
    if (from + length > static_cast<std::uint64_t>(document) && r.start >= 0)
      throw pes::Refusal("a window of " + of_tokens(length) + " from token " +
                         std::to_string(from) + " does not fit into a document of " +
                         of_tokens(static_cast<std::uint64_t>(document)));
    const bool training = r.split == PES_SPLIT_TRAIN;
    const tokens::Stream& stream = training ? folder.train : folder.held_out;
    const std::uint64_t at =
        training ? training_place(r, random, length) : held_out_place(r, random, length);
    std::vector<std::int32_t> window(length + 1);
    stream.read(at, window.size(), window.data(), folder.vocabulary);
    std::copy(window.begin(), window.end() - 1, e.tokens.begin());
    std::copy(window.begin() + 1, window.end(), e.targets.begin());
  }

  // Example i of an epoch is the window at place permuted(i) of those that stand side by side from
  // a point on that each epoch draws anew.
  std::uint64_t training_place(const pes::Request& r, pes::Random& random,
                               std::size_t length) const {
    const std::uint64_t size = folder.train.size();
    if (r.start >= 0) {
      if (size < span())
        throw pes::Refusal("the training shards have " + of_tokens(size) +
                           ", too few for a document of " + of_tokens(span()));
      return random.below64(size - span() + 1) + static_cast<std::uint64_t>(r.start);
    }
    const std::uint64_t windows = (size - length) / length, epoch = r.index / windows;
    const std::uint64_t key = pes::mix64(pes::mix64(r.seed, pes::hash64("epoch")), epoch);
    const std::uint64_t phase = pes::mix64(key, length) % length;
    const std::uint64_t at = permuted(r.index % windows, windows, key) * length + phase;
    if (!at_documents) return at;
    const std::uint64_t begin =
        folder.train.next_document(at, folder.end_of_text, folder.end_before);
    return begin + length < size ? begin : 0;
  }

  std::uint64_t held_out_place(const pes::Request& r, pes::Random& random,
                               std::size_t length) const {
    const auto mine = static_cast<std::uint64_t>(documents[r.split]);
    if (r.index >= mine)
      throw pes::Refusal("there is no document " + std::to_string(r.index) +
                         ": half of the held-out "
                         "shards has " +
                         std::to_string(mine) + " documents of " + of_tokens(span()) +
                         ", counted from 0");
    const auto last = static_cast<std::uint64_t>(document) - length;
    // neighbours go to different splits, and an evaluation of few documents sees all of the shards
    const std::uint64_t i = 2 * r.index + (r.split == PES_SPLIT_TEST ? 1 : 0);
    return (whole ? parts[i] : permuted(i, held_out_documents, pes::hash64("held out")) * span()) +
           (r.start < 0 ? random.below64(last + 1) : static_cast<std::uint64_t>(r.start));
  }

  double distinct(int length) const {
    return std::log10(static_cast<double>(folder.train.size()) - length);
  }
};

}  // namespace

extern const pes_task tokens_task = pes::task<Tokens>;
