// A folder of token shards as 'pesuite data' writes it, or of files of nanoGPT and llm.c: mapped,
// so that opening takes no longer for more of it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <pesuite/tokens.hpp>
#include <string>
#include <vector>

namespace tokens {

namespace fs = std::filesystem;

// The shards of a split, one behind the other.
class Stream {
 public:
  void add(pes::TokenFile file, const fs::path& index);
  std::uint64_t size() const { return first_.empty() ? 0 : first_.back(); }
  // Tokens at .. at + n - 1. std::runtime_error with file and place for one outside the vocabulary.
  void read(std::uint64_t at, std::size_t n, std::int32_t* out, std::int32_t vocabulary) const;
  // Where documents begin, ascending: by the indices beside the shards, else by ends of text, which
  // reads all of them. `before`: an end of text begins a document; else it ends one.
  std::vector<std::uint64_t> documents(std::int64_t end_of_text, bool before) const;
  // The first document that begins at `at` or later; size() where there is none.
  std::uint64_t next_document(std::uint64_t at, std::int64_t end_of_text, bool before) const;

 private:
  struct Shard {
    pes::TokenFile tokens;
    std::vector<pes::MappedFile> index;  // one or none
    std::uint64_t documents() const;
    std::uint64_t begin(std::uint64_t document) const;
  };
  std::size_t shard_of(std::uint64_t at) const;
  std::vector<Shard> shards_;
  std::vector<std::uint64_t> first_;  // first_[i]: tokens of shards 0 .. i
};

struct Folder {
  Stream train, held_out, filler;
  std::int32_t vocabulary = 0;
  std::int64_t end_of_text = -1;
  bool end_before = false;                // an end of text stands before its document
  std::vector<std::int32_t> token_bytes;  // empty where nobody wrote them
  std::string digest;                     // of what it holds
  std::size_t shards = 0;
};

// What a folder without tokens.txt does not say.
struct Foreign {
  std::int32_t vocabulary = 0;
  std::int64_t end_of_text = -1;
  int raw_bytes = 2;
};
// std::runtime_error with a sentence.
Folder open(const fs::path&, const Foreign&);

}  // namespace tokens
