// data: text, tokenizers and token ids.
#include <fmt/format.h>

#include <iostream>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/data.h"
#include "cli/steps.h"
#include "cli/verbs.h"
#include "data/documents.h"
#include "run/run.h"
#include "text/byte_level.h"
#include "text/characters.h"
#include "text/train.h"

namespace pesuite::cli {

namespace {

using text::Token;

void add_tokenizer_flag(Arguments& a) {
  a.flags()("tokenizer", po::value<std::string>(),
            "bytes, or a file tokenizer.json or NAME.tiktoken (NAME.tiktoken:PATTERN: cut by gpt2, "
            "cl100k, qwen2 or o200k), or a folder with tokenizer.json or "
            "with vocab.json and merges.txt");
}
std::unique_ptr<text::Tokenizer> tokenizer_of(const Arguments& a) {
  if (!a.has("tokenizer")) fail(Exit::usage, "--tokenizer is missing: bytes, a file or a folder");
  return text::open_tokenizer(a.text("tokenizer"));
}

// Calls `take` with each line of stdin as JSON.
void each_json_line(const std::function<void(const Json&, std::size_t)>& take) {
  std::string line;
  for (std::size_t number = 1; std::getline(std::cin, line); ++number) {
    if (trim(line).empty()) continue;
    const Json j = Json::parse(line, nullptr, false);
    if (j.is_discarded()) fail(Exit::data, "line {} of stdin is no JSON", number);
    take(j, number);
  }
}

int encode_verb(const std::vector<std::string>& words) {
  Arguments a(
      "data encode --tokenizer WHAT [flags]",
      "Reads a text a line from stdin, as a JSON string or a table with the key 'text', and "
      "writes its ids as a JSON list.\nWith --file, the ids of a whole file on one line.");
  add_tokenizer_flag(a);
  a.flags()("special", po::bool_switch(),
            "what reads like a special token is one; else it is text like any other")(
      "file", po::value<std::string>(), "the text of this file")(
      "count", po::bool_switch(), "the number of ids, and bytes a second, instead of the ids");
  if (!a.parse(words)) return 0;
  const auto t = tokenizer_of(a);
  const auto specials = a.flag("special") ? text::Specials::recognised : text::Specials::plain;
  std::vector<Token> ids;
  const auto encode = [&](const std::string& what) {
    ids.clear();
    const auto start = std::chrono::steady_clock::now();
    t->encode(what, ids, specials);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (!a.flag("count")) return fmt::print("[{}]\n", fmt::join(ids, ","));
    fmt::print("{} tokens of {} bytes, {:.1f} MB/s\n", ids.size(), what.size(),
               static_cast<double>(what.size()) / 1e6 / std::max(took.count(), 1e-9));
  };
  if (a.has("file")) {
    encode(read_file(a.text("file")));
    return 0;
  }
  each_json_line([&](const Json& j, std::size_t number) {
    const Json& what = j.is_object() && j.contains("text") ? j["text"] : j;
    if (!what.is_string())
      fail(Exit::data, "line {} of stdin is neither a string nor a table with the key 'text'",
           number);
    encode(what.get<std::string>());
  });
  return 0;
}

int decode_verb(const std::vector<std::string>& words) {
  Arguments a(
      "data decode --tokenizer WHAT [flags]",
      "Reads a JSON list of ids a line from stdin and writes the text as a JSON string. What "
      "is no UTF-8 becomes U+FFFD there; --raw writes the bytes as they are.");
  add_tokenizer_flag(a);
  a.flags()("skip-special", po::bool_switch(), "leave special tokens out")(
      "raw", po::bool_switch(), "bytes, without quotes and line ends");
  if (!a.parse(words)) return 0;
  const auto t = tokenizer_of(a);
  each_json_line([&](const Json& j, std::size_t number) {
    std::vector<Token> ids;
    for (const Json& id : j.is_array() ? j : Json::array({Json()})) {
      if (!id.is_number_unsigned() || id.get<std::uint64_t>() > ~Token{0})
        fail(Exit::data, "line {} of stdin is no list of ids", number);
      ids.push_back(id.get<Token>());
    }
    const std::string decoded = t->decode(ids, a.flag("skip-special"));
    if (a.flag("raw"))
      std::fwrite(decoded.data(), 1, decoded.size(), stdout);
    else
      fmt::print("{}\n", Json(decoded).dump(-1, ' ', false, Json::error_handler_t::replace));
  });
  return 0;
}

// Pieces of documents, on several threads. Sums of counts do not hang on who counted what.
text::PieceCounts count_pieces(data::Documents& documents, text::Pattern pattern, int threads,
                               Steps& steps) {
  constexpr std::size_t part = 4 << 20;  // bytes that a thread takes
  text::PieceCounts all(pattern);
  std::uint64_t read = 0;
  for (bool more = true; more;) {
    std::vector<std::vector<std::string>> parts;
    while (more && static_cast<int>(parts.size()) < threads) {
      std::vector<std::string> texts;
      std::size_t bytes = 0;
      for (data::Document d; bytes < part && (more = documents.next(d));)
        bytes += d.text.size(), texts.push_back(std::move(d.text));
      read += bytes;
      parts.push_back(std::move(texts));
    }
    std::vector<text::PieceCounts> counts(parts.size(), text::PieceCounts(pattern));
    std::vector<std::thread> team;
    for (std::size_t i = 0; i < parts.size(); ++i)
      team.emplace_back([&, i] {
        for (const std::string& text : parts[i]) counts[i].add(text);
      });
    for (std::thread& t : team) t.join();
    for (const text::PieceCounts& c : counts) all.add(c);
    steps.at(fmt::format("counting pieces of {}", format_bytes(static_cast<double>(read))));
  }
  return all;
}

void list_characters(const std::vector<fs::path>& files, const fs::path& output) {
  Steps steps("reading text");
  std::set<char32_t> seen;
  const auto documents = data::open_documents(files);
  for (data::Document d; documents->next(d);) text::collect_characters(d.text, seen);
  write_file_atomic(output, text::characters_text(seen));
  steps.say(fmt::format("wrote {}: {}", output.string(), counted(seen.size(), "character")));
}

void learn_merges(const Arguments& a, const std::vector<fs::path>& files) {
  const auto pattern = text::pattern_of(a.text("pattern"));
  if (!pattern)
    fail(Exit::usage, "--pattern is '{}'; known are gpt2, cl100k, qwen2 and o200k",
         a.text("pattern"));
  const auto specials = a.texts("special");
  const int size = a.count("vocabulary", 257 + static_cast<int>(specials.size()));
  const int threads = a.threads() > 0 ? a.threads() : default_jobs(1);
  Steps steps("counting pieces");
  const text::PieceCounts counts =
      count_pieces(*data::open_documents(files), *pattern, threads, steps);
  const text::Trained t = text::train_merges(
      counts, static_cast<std::size_t>(size) - specials.size(),
      [&](std::size_t n) { steps.at(fmt::format("{} merges of {}", n, size - 256)); });
  write_file_atomic(a.text("output"), text::hugging_face_text(t, *pattern, specials));
  steps.say(fmt::format("wrote {}: {} tokens, {} of them merges", a.text("output"),
                        t.tokens.size() + specials.size(), t.merges.size()));
}

int train_verb_of_data(const std::vector<std::string>& words) {
  Arguments a(
      "data train-tokenizer TEXT... --vocabulary N --output FILE [flags]",
      "Learns byte-level BPE from files and folders of text, as data tokenize reads them, and "
      "writes "
      "it as tokenizer.json. Of the pairs\nthat occur most the one with the smallest ids is merged "
      "first, so the same text gives the same file with any number of\nthreads. Lines are cut from "
      "each other before.");
  const std::vector<std::string> end = {"<|endoftext|>"};
  a.flags()("vocabulary", po::value<int>()->default_value(8192),
            "tokens: 256 bytes, merges and specials")("output,o", po::value<std::string>(),
                                                      "file to write")(
      "pattern", po::value<std::string>()->default_value("gpt2"),
      "how text is cut: gpt2, cl100k, qwen2 or o200k")(
      "special",
      po::value<std::vector<std::string>>()->composing()->default_value(end, end.front()),
      "special tokens")("threads", po::value<int>()->default_value(0), "threads; 0: all cores")(
      "kind", po::value<std::string>()->default_value("bpe"),
      "bpe, or characters: each character of the text is a token");
  a.choices("kind", {"bpe", "characters"});
  a.positional("files", -1);
  if (!a.parse(words)) return 0;
  a.require("files", "text to learn from");
  a.require("output", "the file to write");
  std::vector<fs::path> files;
  for (const std::string& f : a.texts("files")) files.emplace_back(f);
  if (a.text("kind") == "characters")
    list_characters(files, a.text("output"));
  else if (a.text("kind") == "bpe")
    learn_merges(a, files);
  else
    fail(Exit::usage, "--kind is '{}', and is bpe or characters", a.text("kind"));
  return 0;
}

constexpr Verb data_verbs[] = {
    {"encode", "texts to token ids, a line each", encode_verb},
    {"decode", "token ids to texts", decode_verb},
    {"import", "text of files and of Debian packages as a dataset", import_text_verb},
    {"tokenize", "text to shards of tokens", tokenize_verb},
    {"shard", "token files to shards of another format or size", shard_verb},
    {"synth", "examples of a task as shards of tokens", synth_verb},
    {"inspect", "what a folder of shards holds", inspect_verb},
    {"verify", "whether shards are what was written", verify_shards_verb},
    {"train-tokenizer", "learn byte-level BPE from text", train_verb_of_data},
    {"golden", "hold tokenizers to the ids of public code", golden_tokenizers_verb},
};
constexpr Verbs of_data = {"pesuite data", "COMMAND", "Text, tokenizers and token ids.",
                           "Then: pesuite data COMMAND --help", data_verbs};

}  // namespace

int data_verb(const std::vector<std::string>& words) {
  return call(of_data, words);
}

}  // namespace pesuite::cli
