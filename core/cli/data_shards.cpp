// data tokenize, shard, inspect, verify: text into files of tokens.
#include <signal.h>

#include <atomic>

#include "base/signals.h"
#include "cli/arguments.h"
#include "cli/data.h"
#include "cli/steps.h"
#include "data/examine.h"
#include "data/reshard.h"
#include "data/tokenize.h"
#include "run/run.h"

namespace pesuite::cli {

double share_of(const Arguments& a, const std::string& name) {
  const double x = a.get<double>(name);
  if (!(x >= 0 && x <= 0.5)) fail(Exit::usage, "--{} is {}, and is a share from 0 to 0.5", name, x);
  return x;
}

std::uint64_t shard_tokens_of(const Arguments& a) {
  double n = 0;
  if (!parse_count(a.text("shard-tokens"), n) || n < 1000 || n > 1e12)
    fail(Exit::usage, "--shard-tokens is '{}', and is a number like 100M, from 1000 on",
         a.text("shard-tokens"));
  return static_cast<std::uint64_t>(n);
}

void add_output_flags(Arguments& a) {
  a.flags()("output,o", po::value<std::string>(), "folder to write")(
      "format", po::value<std::string>()->default_value("nanogpt"),
      "nanogpt: no header, end of text behind documents; llmc: header, end of text before them")(
      "shard-tokens", po::value<std::string>()->default_value("100M"),
      "tokens after which a shard ends with its document");
  a.choices("format", {"nanogpt", "llmc"});
}

void print_splits(const data::Manifest& m) {
  std::vector<std::vector<std::string>> rows = {{"split", "shards", "documents", "tokens", "text"}};
  for (const char* split : data::split_names) {
    std::uint64_t shards = 0, documents = 0, tokens = 0, bytes = 0;
    for (const data::Shard& s : m.shards)
      if (s.split == split)
        ++shards, documents += s.documents, tokens += s.tokens, bytes += s.bytes;
    if (shards > 0)
      rows.push_back({split, fmt::format("{}", shards), fmt::format("{}", documents),
                      format_count(static_cast<double>(tokens)),
                      format_bytes(static_cast<double>(bytes))});
  }
  fmt::print("{}", plain_table(rows));
}

namespace {

std::atomic<bool> tokenize_stop{false};
std::atomic<int> tokenize_signal{0};
void stop_tokenizing(int signal) {
  tokenize_signal = signal;
  tokenize_stop = true;
}

std::vector<fs::path> paths_of(const Arguments& a, const char* name) {
  std::vector<fs::path> out;
  for (const std::string& p : a.texts(name)) out.emplace_back(p);
  return out;
}

void print_copies(const Json& notes) {
  const auto n = [&](const char* key) { return notes.value(key, std::size_t{0}); };
  if (!notes.contains("near_duplicates")) return;
  fmt::print(
      "left out: {} that {} of an earlier one\nnearly like an earlier one: {}\n"
      "held out and nearly like one of another split: {}\n",
      counted(n("exact_copies_left_out"), "document"),
      n("exact_copies_left_out") == 1 ? "is a copy" : "are copies", n("near_duplicates"),
      fmt::format("{}{}", n("held_out_near_duplicates"),
                  n("held_out_near_duplicates") == 0                       ? ""
                  : notes.value("held_out_near_duplicates_dropped", false) ? ", dropped"
                                                                           : ", kept"));
  if (n("documents_not_exact") > 0)
    fmt::print("not UTF-8, and not kept byte for byte: {}\n", n("documents_not_exact"));
}

}  // namespace

namespace {

void add_shard_flags(Arguments& a) {
  add_output_flags(a);
  a.flags()("tokenizer", po::value<std::string>(), "bytes, or a tokenizer's file or folder");
}

void add_tokenize_flags(Arguments& a) {
  add_shard_flags(a);
  a.flags()("field", po::value<std::string>()->default_value("text"),
            "field of .jsonl, column of .parquet")(
      "separator", po::value<std::string>(),
      "line that ends a document in a .txt, e.g. '<|endoftext|>'")(
      "validation", po::value<std::vector<std::string>>()->composing(),
      "text to validate and test on, beside files named validation, valid or val")(
      "filler", po::value<std::vector<std::string>>()->composing(),
      "text that questions are hidden in, beside files named filler")(
      "validation-share", po::value<double>()->default_value(0.05, "0.05"),
      "share of the documents that is held out where no file is named")(
      "filler-share", po::value<double>()->default_value(0, "0"), "share kept as filler")(
      "near-duplicates", po::value<std::string>()->default_value("drop"),
      "held-out documents that are nearly ones of another split: drop or keep")(
      "no-end-of-text", po::bool_switch(), "nothing between documents")(
      "licence", po::value<std::string>()->default_value(""), "note for the manifest")(
      "threads", po::value<int>()->default_value(0), "threads; 0: all cores")(
      "restart", po::bool_switch(), "forget what an interrupted call left");
  a.choices("near-duplicates", {"drop", "keep"});
  a.positional("text", -1);
}

data::TokenizeOptions tokenize_options(const Arguments& a) {
  if (const std::string& n = a.text("near-duplicates"); n != "drop" && n != "keep")
    fail(Exit::usage, "--near-duplicates is '{}', and is drop or keep", n);
  data::TokenizeOptions o;
  o.paths = paths_of(a, "text");
  o.validation = paths_of(a, "validation"), o.filler = paths_of(a, "filler");
  o.documents.field = a.text("field"), o.documents.separator = a.text("separator");
  o.tokenizer = a.text("tokenizer");
  o.validation_share = share_of(a, "validation-share"),
  o.filler_share = share_of(a, "filler-share");
  o.format = data::format_named(a.text("format"));
  o.shard_tokens = shard_tokens_of(a);
  o.separate = !a.flag("no-end-of-text"), o.drop_near = a.text("near-duplicates") == "drop";
  o.threads = a.threads() > 0 ? a.threads() : default_jobs(1);
  o.licence = a.text("licence"), o.restart = a.flag("restart");
  return o;
}

std::string progress_line(const data::TokenizeProgress& p, double seconds) {
  const double share =
      static_cast<double>(p.bytes_read) / static_cast<double>(std::max<std::uint64_t>(p.bytes, 1));
  return fmt::format("{:.0f} % of {}, {}, {} of text, {:.1f} MB/s", 100 * share,
                     format_bytes(static_cast<double>(p.bytes)), counted(p.documents, "document"),
                     format_bytes(static_cast<double>(p.text)),
                     static_cast<double>(p.text) / 1e6 / std::max(seconds, 1e-3));
}

}  // namespace

int tokenize_verb(const std::vector<std::string>& words) {
  Arguments a(
      "data tokenize TEXT... --tokenizer WHAT --output FOLDER [flags]",
      "Makes shards of tokens from files and folders of text (.txt, .jsonl, .gz and .zst of "
      "them, .parquet, what data import wrote).\nDocuments are divided into train, validation and "
      "filler by their content, exact copies left out. Interrupted, the same command goes "
      "on.");
  add_tokenize_flags(a);
  if (!a.parse(words)) return 0;
  a.require("text", "files or folders of text");
  a.require("output", "the folder to write");
  a.require("tokenizer", "bytes, a file or a folder");
  const data::TokenizeOptions o = tokenize_options(a);
  data::Manifest m;
  {
    Steps steps("opening the tokenizer");
    const auto start = std::chrono::steady_clock::now();
    const SignalGuard guard(stop_tokenizing, {SIGINT, SIGTERM, SIGUSR1});
    const auto show = [&](const data::TokenizeProgress& p) {
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      steps.at(progress_line(p, took.count()));
    };
    if (!data::tokenize(o, a.text("output"), tokenize_stop, show, m)) {
      steps.say("interrupted; the same command goes on");
      return exit_code_of(tokenize_signal);
    }
  }
  print_splits(m);
  print_copies(m.notes);
  return 0;
}

int shard_verb(const std::vector<std::string>& words) {
  Arguments a(
      "data shard FILE... --tokenizer WHAT --output FOLDER [flags]",
      "Makes shards with a manifest from token files of nanoGPT and llm.c, or of another "
      "format or size from our own. Files whose names hold 'val' are validation, those with "
      "'filler' filler.");
  add_shard_flags(a);
  a.flags()("raw-bytes", po::value<int>()->default_value(2),
            "bytes of a token in files without header: 2 or 4");
  a.positional("files", -1);
  if (!a.parse(words)) return 0;
  a.require("files", "token files or folders of them");
  a.require("output", "the folder to write");
  a.require("tokenizer", "what the tokens were made with");
  data::ReshardOptions o{paths_of(a, "files"), a.text("tokenizer"), a.count("raw-bytes", 2, 2),
                         data::format_named(a.text("format")), shard_tokens_of(a)};
  if (o.raw_bytes != 2 && o.raw_bytes != 4)
    fail(Exit::usage, "--raw-bytes is {}, and is 2 or 4", o.raw_bytes);
  data::Manifest m;
  {
    Steps steps("opening the tokenizer");
    m = data::reshard(o, a.text("output"), [&](const std::string& now) { steps.at(now); });
  }
  print_splits(m);
  return 0;
}

int inspect_verb(const std::vector<std::string>& words) {
  Arguments a("data inspect FOLDER [flags]",
              "Prints what a folder of shards holds, or what stands in token files without a "
              "manifest; with --document, the text of one.");
  a.flags()("document", po::value<int>(), "number of a document to print, from 0")(
      "split", po::value<std::string>()->default_value("train"), "split that it is of")(
      "json", po::bool_switch(), "the manifest");
  a.choices("split", {"train", "val", "filler"});
  a.positional("folder");
  if (!a.parse(words)) return 0;
  a.require("folder", "a folder of shards");
  return inspect_shards(a);
}

namespace {

// What was left out on purpose is not missed.
std::string missed(const data::Manifest& m, const data::Against& against) {
  const std::uint64_t dropped = m.notes.value("held_out_near_duplicates_dropped", false)
                                    ? m.notes.value("held_out_near_duplicates", std::uint64_t{0})
                                    : 0;
  fmt::print("{} of {} decode to their text{}\n", against.found,
             counted(against.documents, "document"),
             dropped > 0 ? fmt::format(", and {} were dropped as near-duplicates", dropped) : "");
  const std::uint64_t missing = against.documents - against.found;
  if (missing <= dropped) return "";
  return fmt::format("{} {} not; the first is {}", counted(missing, "document"),
                     missing == 1 ? "does" : "do", against.first_missing);
}

}  // namespace

int verify_shards_verb(const std::vector<std::string>& words) {
  Arguments a("data verify FOLDER [TEXT...] [flags]",
              "Holds a folder of shards to its manifest: sizes, SHA-256, vocabulary, documents, "
              "tokenizer, no document in two splits. With TEXT also whether each document of it "
              "decodes byte for byte.\nExit code 5 where anything does not hold.");
  a.flags()("field", po::value<std::string>()->default_value("text"),
            "field of .jsonl, column of .parquet")("separator", po::value<std::string>(),
                                                   "line that ends a document in a .txt")(
      "threads", po::value<int>()->default_value(0), "threads; 0: all cores");
  a.positional("folder");
  a.positional("text", -1);
  if (!a.parse(words)) return 0;
  a.require("folder", "a folder of shards");
  const fs::path folder = a.text("folder");
  std::vector<std::string> problems;
  std::optional<data::Against> against;
  const data::Manifest m = data::read_manifest(folder);
  {
    Steps steps("reading shards");
    const auto say = [&](const std::string& now) { steps.at("reading " + now); };
    problems = data::verify_shards(folder, a.threads() > 0 ? a.threads() : default_jobs(1), say);
    if (a.has("text") && problems.empty()) {
      data::DocumentOptions of;
      of.field = a.text("field"), of.separator = a.text("separator");
      against = data::verify_against(folder, *data::open_documents(paths_of(a, "text"), of), say);
    }
  }
  if (against)
    if (const std::string problem = missed(m, *against); !problem.empty())
      problems.push_back(problem);
  if (!problems.empty()) fail(Exit::data, "{}", join(problems, "\n"));
  fmt::print("{}: {}, as written\n", folder.string(), counted(m.shards.size(), "shard"));
  return 0;
}

}  // namespace pesuite::cli
