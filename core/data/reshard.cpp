#include "data/reshard.h"

#include <algorithm>

#include "data/phrases.h"

namespace pesuite::data {

std::vector<fs::path> token_files(const std::vector<fs::path>& paths) {
  std::vector<fs::path> files;
  for (const fs::path& p : paths) {
    if (!fs::is_directory(p)) {
      files.push_back(p);
      continue;
    }
    std::vector<fs::path> inside;
    for (const auto& item : fs::directory_iterator(p))
      if (item.path().extension() == ".bin") inside.push_back(item.path());
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  if (files.empty()) fail(Exit::data, "there is no file of tokens (.bin) in what was named");
  return files;
}

std::string split_of_name(const fs::path& file) {
  const std::string name = file.stem();
  if (name.find("val") != std::string::npos) return "val";
  return name.find("filler") != std::string::npos ? "filler" : "train";
}

namespace {

// The documents of a file, each handed on without its end of text.
void each_document(const pes::TokenFile& file, std::int64_t end, std::uint32_t vocabulary,
                   const std::function<void(std::vector<Token>&)>& take) {
  std::vector<Token> document;
  for (std::uint64_t i = 0; i < file.size(); ++i) {
    const Token t = file[i];
    if (t >= vocabulary)
      fail(Exit::data,
           "{}: token {} at place {} is outside the tokenizer's vocabulary of {}: it was made with "
           "another tokenizer, or is damaged",
           file.path().string(), t, i, vocabulary);
    if (end >= 0 && t == static_cast<Token>(end)) {
      if (!document.empty()) take(document);
      document.clear();
    } else {
      document.push_back(t);
    }
  }
  if (!document.empty()) take(document);
}

}  // namespace

Manifest reshard(const ReshardOptions& o, const fs::path& folder, const Say& say) {
  if (fs::exists(folder / "manifest.json"))
    fail(Exit::data, "{} holds shards already; name another folder", folder.string());
  const auto tokenizer = text::open_tokenizer(o.tokenizer);
  Manifest m;
  m.tokenizer = tokenizer->name(), m.tokenizer_sha256 = tokenizer->digest();
  m.vocabulary = tokenizer->vocabulary(), m.end_of_text = tokenizer->end_of_text();
  m.bytes_per_token = m.vocabulary > 65536 ? 4 : 2;
  m.format = format_name(o.format);
  fs::create_directories(folder);
  std::vector<std::unique_ptr<ShardWriter>> writers;
  for (const char* split : split_names)
    writers.push_back(
        std::make_unique<ShardWriter>(folder, split, o.format, m.bytes_per_token, o.shard_tokens));
  for (const fs::path& path : token_files(o.files)) {
    say(path.string());
    const auto split = std::find(split_names.begin(), split_names.end(), split_of_name(path));
    ShardWriter& writer = *writers[static_cast<std::size_t>(split - split_names.begin())];
    Source source;
    source.name = path.filename(), source.origin = path.string();
    source.sha256 = sha256_file(path);
    const auto take = [&](std::vector<Token>& d) {
      const std::uint64_t bytes = tokenizer->decode(d).size();
      if (m.end_of_text >= 0)
        d.insert(o.format == Format::llmc ? d.begin() : d.end(), static_cast<Token>(m.end_of_text));
      writer.add(d, bytes);
      ++source.documents, source.bytes += bytes;
    };
    try {
      each_document(pes::TokenFile(path, o.raw_bytes), m.end_of_text, m.vocabulary, take);
    } catch (const Error&) {
      throw;
    } catch (const std::runtime_error& e) {
      throw Error(Exit::data, e.what());
    }
    m.sources.push_back(std::move(source));
  }
  for (auto& w : writers)
    for (Shard& s : w->finish()) m.shards.push_back(std::move(s));
  keep_tokenizer(o.tokenizer, folder, m);
  write_file_atomic(folder / "tokens.txt", tokens_text(m, *tokenizer));
  write_file_atomic(folder / "phrases.txt", phrases_text(*tokenizer));
  write_file_atomic(folder / "manifest.json", to_json(m).dump(2) + "\n");
  return m;
}

}  // namespace pesuite::data
