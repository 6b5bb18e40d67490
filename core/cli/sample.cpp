// sample: text continued by a checkpoint.
#include <fmt/format.h>

#include <cmath>
#include <span>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/catalog.h"
#include "cli/checkpoint.h"
#include "cli/steps.h"
#include "model/sample.h"
#include "run/run.h"

namespace pesuite::cli {

namespace {

using Ids = std::vector<std::int32_t>;

Ids ids_of(const text::Tokenizer& t, const std::string& text) {
  std::vector<text::Token> ids;
  t.encode(text, ids, text::Specials::recognised);
  t.put_around(ids);
  return {ids.begin(), ids.end()};
}
std::string text_of(const text::Tokenizer& t, std::span<const std::int32_t> ids) {
  return t.decode(std::vector<text::Token>(ids.begin(), ids.end()), true);
}

// Bytes at the end that begin a character and do not finish it.
std::size_t unfinished(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto c = static_cast<unsigned char>(text[text.size() - back]);
    const std::size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    if (c >= 0xc0) return length > back ? back : 0;
    if (c < 0x80) return 0;
  }
  return 0;
}

// Shows a text while it grows, whole characters at a time, and none that would steer the terminal.
class Stream {
 public:
  explicit Stream(const text::Tokenizer* t) : tokenizer_(t) {}
  void add(std::int32_t token) {
    ids_.push_back(token);
    if (tokenizer_ == nullptr) {
      fmt::print("{}{}", ids_.size() > 1 ? " " : "", token);
    } else {
      show();
    }
    std::fflush(stdout);
  }

 private:
  // A token's text may depend on the one before it, not on those before that: so much is decoded.
  void show() {
    const std::span<const std::int32_t> last = std::span(ids_).subspan(context_);
    const std::string text = text_of(*tokenizer_, last);
    const std::size_t begin = text_of(*tokenizer_, last.first(shown_ - context_)).size() + part_,
                      end = text.size() - unfinished(text);
    if (end > begin) {
      fmt::print("{}", printable(text.substr(begin, end - begin), true));
      part_ += end - begin;
    }
    if (end == text.size()) context_ = shown_, shown_ = ids_.size(), part_ = 0;
  }

  const text::Tokenizer* tokenizer_;
  Ids ids_;
  std::size_t context_ = 0, shown_ = 0;  // tokens: before the last that were shown, and with them
  std::size_t part_ = 0;                 // bytes behind those that were
};

struct Prompt {
  std::string text;  // "": given as tokens
  Ids ids;
};

std::vector<Prompt> prompts_of(const Arguments& a, const text::Tokenizer* t) {
  std::vector<Prompt> out;
  const auto add = [&](const std::string& text) { out.push_back({text, ids_of(*t, text)}); };
  for (const std::string& text : a.texts("prompt")) add(text);
  if (a.has("prompts"))
    for (const std::string& line : split(read_file(a.text("prompts")), '\n'))
      if (!line.empty()) add(line);
  for (const std::string& list : a.texts("tokens")) {
    Prompt p;
    for (const std::string& token : split(list, ','))
      if (double x = 0; parse_count(trim(token), x) && x >= 0 && x == std::floor(x) && x < 1 << 30)
        p.ids.push_back(static_cast<std::int32_t>(x));
      else
        fail(Exit::usage, "--tokens: '{}' is no token's number", token);
    out.push_back(std::move(p));
  }
  if (out.empty())
    fail(Exit::usage, "what shall it go on from? --prompt TEXT, --prompts FILE or --tokens 1,2,3");
  std::vector<Prompt> all;
  for (const Prompt& p : out)
    for (int n = 0; n < a.count("count", 1); ++n) all.push_back(p);
  return all;
}

Generating generating_of(const Arguments& a, const NamedModel& named, const text::Tokenizer* t) {
  Generating g;
  g.sampling.temperature = a.get<double>("temperature");
  g.sampling.top_k = a.count("top-k"), g.sampling.top_p = a.get<double>("top-p");
  g.tokens = a.count("max-tokens", 1);
  g.seed = a.get<std::uint64_t>("seed");
  g.batch = a.count("batch", 1);
  if (!a.flag("ignore-end")) g.ends = named.ends(t);
  check(g.sampling);
  return g;
}

Json to_json(const Prompt& p, const Continuation& c, const text::Tokenizer* t) {
  Json j;
  if (!p.text.empty()) j["prompt"] = p.text;
  j["prompt_tokens"] = p.ids, j["tokens"] = c.tokens;
  if (t != nullptr) j["text"] = text_of(*t, c.tokens);
  j["ended"] = c.ended;
  return j;
}

void add_flags_of_sample(Arguments& a) {
  a.flags()("prompt", po::value<std::vector<std::string>>()->composing(),
            "text to go on from; several go on side by side")("prompts", po::value<std::string>(),
                                                              "file with a prompt a line")(
      "tokens", po::value<std::vector<std::string>>()->composing(),
      "a prompt as ids, e.g. 1,2,3, of models without text too")(
      "max-tokens", po::value<int>()->default_value(64), "tokens to write at most")(
      "temperature", real_value(1), "of the softmax; 0: always the likeliest token")(
      "top-k", po::value<int>()->default_value(0), "draw from so many likeliest tokens; 0: all")(
      "top-p", real_value(1), "draw from the likeliest that hold this probability")(
      "seed", po::value<std::uint64_t>()->default_value(0), "the same draws again")(
      "count", po::value<int>()->default_value(1), "continuations of each prompt")(
      "batch", po::value<int>()->default_value(8), "prompts that are continued side by side")(
      "ignore-end", po::bool_switch(), "goes on behind an end of text")(
      "encoding", po::value<std::string>(),
      "encodings to swap in, e.g. 'NAME(option=5)'; options that are not written are the model's")(
      "tokenizer", po::value<std::string>(), "a file or folder (default: the model's own)")(
      "backend", po::value<std::string>(), "cpu, reference, cuda (default: the model's)")(
      "precision", po::value<std::string>(), "fp32, bf16 or, on cuda, fp16 (default: the model's)")(
      "threads", po::value<int>()->default_value(0), "threads; 0: all cores")(
      "json", po::bool_switch(), "a JSON line each: prompt, tokens, text");
  a.positional("model");
}

void print_time(const GenerationTime& t, std::size_t prompts) {
  fmt::print(
      stderr,
      "read {} in {:.2f} s ({:.0f} a second), wrote {} in {:.2f} s ({:.0f} a "
      "second){}\n",
      counted(t.read, "token"), t.reading, static_cast<double>(t.read) / t.reading,
      counted(t.drawn, "token"), t.drawing,
      static_cast<double>(std::max<std::int64_t>(0, t.drawn - static_cast<std::int64_t>(prompts))) /
          std::max(t.drawing, 1e-9),
      t.rereads > 0 ? fmt::format("; {} times all was read again, since the encoding changes "
                                  "with the length",
                                  t.rereads)
                    : "");
}

}  // namespace

int sample_verb(const std::vector<std::string>& words) {
  Arguments a("sample MODEL --prompt TEXT [flags]",
              "Goes on from a text: a checkpoint that 'train' wrote, a cell of a suite's run "
              "(RUN/ENCODING/TASK/MODEL/SEED), or a folder in Hugging Face's layout.\nWhat it "
              "writes appears as it is drawn; how fast, on stderr.");
  add_flags_of_sample(a);
  if (!a.parse(words)) return 0;
  a.require("model", "the checkpoint or folder");
  const Catalog catalog = catalog_of(a);
  const NamedModel named(a.text("model"));
  const bool text = !a.has("tokens") || a.has("tokenizer") || a.has("prompt") || a.has("prompts");
  const std::unique_ptr<text::Tokenizer> t = text ? named.tokenizer(a.text("tokenizer")) : nullptr;
  const std::vector<Prompt> prompts = prompts_of(a, t.get());
  Generating g = generating_of(a, named, t.get());
  std::vector<Ids> ids;
  std::size_t longest = 0;
  for (const Prompt& p : prompts) ids.push_back(p.ids), longest = std::max(longest, p.ids.size());
  LoadedModel loaded(named, catalog, a, static_cast<int>(longest) + g.tokens);
  Stream stream(t.get());
  const bool streams = prompts.size() == 1 && !a.flag("json");
  if (streams) g.each = [&](std::size_t, std::int32_t token) { stream.add(token); };
  GenerationTime time;
  const std::vector<Continuation> all = generate(loaded.model(), ids, g, &time);
  if (streams) fmt::print("\n");
  for (std::size_t i = 0; i < all.size() && !streams; ++i) {
    if (a.flag("json")) {
      fmt::print("{}\n", to_json(prompts[i], all[i], t.get())
                             .dump(-1, ' ', false, Json::error_handler_t::replace));
      continue;
    }
    fmt::print("{}--- {}\n", i > 0 ? "\n" : "", printable(prompts[i].text));
    Stream whole(t.get());
    for (const std::int32_t token : all[i].tokens) whole.add(token);
    fmt::print("\n");
  }
  print_time(time, prompts.size());
  return 0;
}

}  // namespace pesuite::cli
