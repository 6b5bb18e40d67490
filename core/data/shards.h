// Folders of token shards: written document by document, opened without being read.
//
//   train_000000.bin  val_000000.bin  filler_000000.bin   tokens, see pesuite/tokens.hpp
//   train_000000.idx  ...                                 uint64: where each document begins
//   manifest.json                                         see manifest.h
//   tokens.txt                                            vocabulary, end of text, bytes of each
//   token tokenizer.json, .tiktoken or .model                   a copy of the tokenizer's file
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/manifest.h"
#include "pesuite/tokens.hpp"
#include "text/tokenizer.h"

namespace pesuite::data {

using text::Token;

enum class Format { nanogpt, llmc };
Format format_named(const std::string& name);  // Error (usage)
std::string_view format_name(Format);

// The shards of one split. The one that is being written has names that end in ".part"; what it
// holds counts from a checkpoint's state() on only.
class ShardWriter {
 public:
  ShardWriter(fs::path folder, std::string split, Format, int bytes_per_token,
              std::uint64_t shard_tokens);
  ~ShardWriter();
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  void add(std::span<const Token> document, std::uint64_t bytes);  // bytes of text
  void sync();                  // what was added so far is on the disk
  Json state() const;           // of what was added so far
  void resume(const Json&);     // drops what was written after that state; Error (data)
  std::vector<Shard> finish();  // the last shard gets its name; all of them

 private:
  struct Open;
  fs::path name(std::size_t number, const char* extension) const;
  void open(std::size_t number);
  void close_shard();
  void write_out();

  fs::path folder_;
  std::string split_;
  Format format_;
  int bytes_per_token_;
  std::uint64_t shard_tokens_;
  std::vector<Shard> done_;
  Shard now_;
  int tokens_file_ = -1, index_file_ = -1;
  std::string tokens_, index_;  // not written yet
};

// A shard and where its documents begin.
class OpenShard {
 public:
  // Error (data) where files and manifest differ in size.
  OpenShard(const fs::path& folder, const Shard&, int bytes_per_token);
  const Shard& shard() const { return shard_; }
  const pes::TokenFile& tokens() const { return tokens_; }
  std::uint64_t documents() const { return shard_.documents; }
  std::uint64_t begin(std::uint64_t document) const;
  std::uint64_t end(std::uint64_t document) const {
    return document + 1 < documents() ? begin(document + 1) : tokens_.size();
  }
  std::vector<Token> document(std::uint64_t) const;

 private:
  Shard shard_;
  pes::TokenFile tokens_;
  pes::MappedFile index_;
};

// Text behind a token; "" of specials and of numbers that name no token.
std::string text_of(const text::Tokenizer&, Token);

// tokens.txt of a folder, which tasks read: "pesuite tokens 1", "vocabulary N", "end_of_text N or
// -1", "bytes_per_token N", "identity" and the SHA-256 of the shards' SHA-256; then the bytes of
// text behind each token, one a line; none of a task whose tokens are no text.
std::string tokens_text(const Manifest&, const text::Tokenizer&);
std::string tokens_text(const Manifest&, std::span<const std::size_t> bytes);
// Of the shards' SHA-256, in their order.
std::string identity_of(const Manifest&);

// Copies the files of a tokenizer into the folder, and says so in the manifest.
void keep_tokenizer(const std::string& tokenizer, const fs::path& folder, Manifest&);
// The tokenizer that the folder carries. Error (data) where it is not the manifest's.
std::unique_ptr<text::Tokenizer> tokenizer_of(const Manifest&, const fs::path& folder);

}  // namespace pesuite::data
