// The manifest of a folder of token shards: what was made of what, so that it can be checked.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"

namespace pesuite::data {

inline constexpr std::array<const char*, 3> split_names = {"train", "val", "filler"};

struct Shard {
  std::string file;                                    // beside the manifest
  std::string split;                                   // one of split_names
  std::uint64_t tokens = 0, documents = 0, bytes = 0;  // bytes: of text
  std::string sha256;                                  // of the file
};

// Of text that `data import` fetched, or of a folder of the user's.
struct Source {
  std::string name, origin, version, licence;  // origin: path or address
  std::uint64_t documents = 0, bytes = 0;
  std::string sha256;  // of its documents' digests, in their order
};

struct Manifest {
  std::vector<Source> sources;
  std::string task;  // of `data synth`: whose tokens they are; there is no tokenizer then
  std::string tokenizer, tokenizer_file, tokenizer_sha256;  // file: beside the manifest, or empty
  std::uint32_t vocabulary = 0;
  std::int64_t end_of_text = -1;
  std::string format;  // "nanogpt" or "llmc"
  int bytes_per_token = 2;
  std::vector<Shard> shards;
  Json notes = Json::object();  // counts of duplicates and the like
};

Json to_json(const Manifest&);
Manifest manifest_from(const Json&, const std::string& where);  // Error (data)
Manifest read_manifest(const fs::path& folder);                 // Error (data)

}  // namespace pesuite::data
