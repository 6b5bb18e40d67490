#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/data.h"
#include "cli/steps.h"
#include "data/examine.h"
#include "data/reshard.h"

namespace pesuite::cli {

namespace {

void print_document(const data::Manifest& m, const fs::path& folder, const std::string& split,
                    std::uint64_t number) {
  const auto tokenizer = m.task.empty() ? data::tokenizer_of(m, folder) : nullptr;
  std::uint64_t before = 0;
  for (const data::Shard& s : m.shards) {
    if (s.split != split) continue;
    if (number >= before + s.documents) {
      before += s.documents;
      continue;
    }
    const data::OpenShard shard(folder, s, m.bytes_per_token);
    const std::vector<data::Token> tokens = shard.document(number - before);
    fmt::print("{}\n", tokenizer == nullptr ? fmt::format("{}", fmt::join(tokens, " "))
                                            : printable(tokenizer->decode(tokens, true), true));
    return;
  }
  fail(Exit::usage, "split '{}' has {}, counted from 0", split, counted(before, "document"));
}

// Token files without a manifest: sizes and the largest token.
int inspect_foreign(const fs::path& path) {
  std::vector<std::vector<std::string>> rows = {{"file", "split", "format", "tokens", "largest"}};
  for (const fs::path& file : data::token_files({path})) try {
      const pes::TokenFile tokens(file);
      std::uint32_t largest = 0;
      for (std::uint64_t i = 0; i < tokens.size(); ++i) largest = std::max(largest, tokens[i]);
      rows.push_back({file.filename(), data::split_of_name(file),
                      tokens.has_header() ? "llmc" : "nanogpt", fmt::format("{}", tokens.size()),
                      fmt::format("{}", largest)});
    } catch (const std::runtime_error& e) {
      throw Error(Exit::data, e.what());
    }
  fmt::print("{}", plain_table(rows));
  return 0;
}

}  // namespace

int inspect_shards(const Arguments& a) {
  const fs::path folder = a.text("folder");
  if (!fs::exists(folder)) fail(Exit::data, "there is no {}", folder.string());
  if (!fs::is_directory(folder) || !fs::exists(folder / "manifest.json"))
    return inspect_foreign(folder);
  const data::Manifest m = data::read_manifest(folder);
  if (a.flag("json")) {
    fmt::print("{}\n", data::to_json(m).dump(2));
    return 0;
  }
  if (a.has("document")) {
    print_document(m, folder, a.text("split"), static_cast<std::uint64_t>(a.count("document")));
    return 0;
  }
  std::vector<data::SplitSummary> splits;
  {
    Steps steps("reading shards");
    splits =
        data::summarise(m, folder, [&](const std::string& now) { steps.at("reading " + now); });
  }
  fmt::print("{}: {}, {} tokens, end of text {}\nformat: {}, {} bytes a token\n",
             m.task.empty() ? "tokenizer" : "task", m.task.empty() ? m.tokenizer : m.task,
             m.vocabulary, m.end_of_text, m.format, m.bytes_per_token);
  for (const data::Source& s : m.sources)
    fmt::print("source: {}{}{}, {}, {}\n", s.name, s.version.empty() ? "" : " " + s.version,
               s.licence.empty() ? "" : fmt::format(" ({})", s.licence),
               counted(s.documents, "document"), format_bytes(static_cast<double>(s.bytes)));
  std::vector<std::vector<std::string>> rows = {{"split", "shards", "documents", "tokens", "text",
                                                 "bytes/token", "shortest", "median", "longest",
                                                 "distinct tokens"}};
  for (const data::SplitSummary& s : splits)
    rows.push_back(
        {s.split, fmt::format("{}", s.shards), fmt::format("{}", s.documents),
         fmt::format("{}", s.tokens), format_bytes(static_cast<double>(s.bytes)),
         fmt::format("{:.2f}", static_cast<double>(s.bytes) / static_cast<double>(s.tokens)),
         fmt::format("{}", s.shortest), fmt::format("{}", s.median), fmt::format("{}", s.longest),
         fmt::format("{}", s.distinct)});
  fmt::print("\n{}", plain_table(rows));
  return 0;
}

}  // namespace pesuite::cli
