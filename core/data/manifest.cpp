#include "data/manifest.h"

#include <algorithm>

namespace pesuite::data {

namespace {

constexpr int manifest_version = 1;

template <class T>
T field(const Json& j, const char* key, const std::string& where) {
  try {
    return j.at(key).get<T>();
  } catch (const std::exception&) {
    fail(Exit::data, "{}: '{}' is missing, or not what a manifest of pesuite has there", where,
         key);
  }
}

}  // namespace

Json to_json(const Manifest& m) {
  Json sources = Json::array(), shards = Json::array();
  for (const Source& s : m.sources)
    sources.push_back({{"name", s.name},
                       {"origin", s.origin},
                       {"version", s.version},
                       {"licence", s.licence},
                       {"documents", s.documents},
                       {"bytes", s.bytes},
                       {"sha256", s.sha256}});
  for (const Shard& s : m.shards)
    shards.push_back({{"file", s.file},
                      {"split", s.split},
                      {"tokens", s.tokens},
                      {"documents", s.documents},
                      {"bytes", s.bytes},
                      {"sha256", s.sha256}});
  return {{"pesuite_tokens", manifest_version},
          {"sources", std::move(sources)},
          {"task", m.task},
          {"tokenizer",
           {{"name", m.tokenizer},
            {"file", m.tokenizer_file},
            {"sha256", m.tokenizer_sha256},
            {"vocabulary", m.vocabulary},
            {"end_of_text", m.end_of_text}}},
          {"format", m.format},
          {"bytes_per_token", m.bytes_per_token},
          {"shards", std::move(shards)},
          {"notes", m.notes}};
}

Manifest manifest_from(const Json& j, const std::string& where) {
  if (const int version = field<int>(j, "pesuite_tokens", where); version != manifest_version)
    fail(Exit::data, "{} is of version {}, and this pesuite reads version {}", where, version,
         manifest_version);
  Manifest m;
  for (const Json& s : field<Json>(j, "sources", where))
    m.sources.push_back(
        {field<std::string>(s, "name", where), field<std::string>(s, "origin", where),
         field<std::string>(s, "version", where), field<std::string>(s, "licence", where),
         field<std::uint64_t>(s, "documents", where), field<std::uint64_t>(s, "bytes", where),
         field<std::string>(s, "sha256", where)});
  if (j.contains("task")) m.task = field<std::string>(j, "task", where);
  const auto tokenizer = field<Json>(j, "tokenizer", where);
  m.tokenizer = field<std::string>(tokenizer, "name", where);
  m.tokenizer_file = field<std::string>(tokenizer, "file", where);
  m.tokenizer_sha256 = field<std::string>(tokenizer, "sha256", where);
  m.vocabulary = field<std::uint32_t>(tokenizer, "vocabulary", where);
  m.end_of_text = field<std::int64_t>(tokenizer, "end_of_text", where);
  m.format = field<std::string>(j, "format", where);
  m.bytes_per_token = field<int>(j, "bytes_per_token", where);
  for (const Json& s : field<Json>(j, "shards", where)) {
    Shard shard{
        field<std::string>(s, "file", where),     field<std::string>(s, "split", where),
        field<std::uint64_t>(s, "tokens", where), field<std::uint64_t>(s, "documents", where),
        field<std::uint64_t>(s, "bytes", where),  field<std::string>(s, "sha256", where)};
    if (fs::path(shard.file).filename() != shard.file)
      fail(Exit::data, "{} names the shard '{}', which does not stand beside it", where,
           shard.file);
    m.shards.push_back(std::move(shard));
  }
  m.notes = field<Json>(j, "notes", where);
  return m;
}

Manifest read_manifest(const fs::path& folder) {
  const fs::path file = folder / "manifest.json";
  std::error_code none;
  if (!fs::exists(file, none))
    fail(Exit::data,
         "{} is no folder of tokens, for it has no manifest.json; 'pesuite data tokenize TEXT "
         "--tokenizer FILE -o FOLDER' makes one",
         folder.string());
  const Json j = Json::parse(read_file(file), nullptr, false);
  if (j.is_discarded()) fail(Exit::data, "{} is no JSON", file.string());
  return manifest_from(j, file.string());
}

}  // namespace pesuite::data
