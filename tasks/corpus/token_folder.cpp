#include "token_folder.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <pesuite/random.hpp>
#include <stdexcept>

namespace tokens {

namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  throw std::runtime_error(sentence);
}

std::vector<fs::path> token_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& item : fs::directory_iterator(folder))
    if (item.path().extension() == ".bin") files.push_back(item.path());
  std::sort(files.begin(), files.end());
  return files;
}

// Of sizes and of 16 places of each file: a whole reading would take minutes.
class Fingerprint {
 public:
  void add(const pes::TokenFile& file) {
    mix(file.size());
    const std::uint64_t last = file.size() - 1;
    for (std::uint64_t place = 0; place < 16; ++place) {
      const std::uint64_t from = last / 15 * place;
      for (std::uint64_t i = from; i < std::min(from + 512, file.size()); ++i) mix(file[i]);
    }
  }
  std::string text() const {
    char out[33];
    std::snprintf(out, sizeof(out), "%016llx%016llx", static_cast<unsigned long long>(h_[0]),
                  static_cast<unsigned long long>(h_[1]));
    return out;
  }

 private:
  void mix(std::uint64_t v) { h_ = {pes::mix64(h_[0], v), pes::mix64(h_[1], v)}; }
  std::array<std::uint64_t, 2> h_ = {pes::hash64("tokens, high"), pes::hash64("tokens, low")};
};

// tokens.txt, as core/data/shards.h describes it. Returns the bytes of a token in its files.
int read_facts(const fs::path& file, Folder& folder) {
  std::ifstream in(file);
  std::string word, name;
  int version = 0, bytes_per_token = 0;
  in >> word >> name >> version;
  if (!in || word != "pesuite" || name != "tokens" || version != 1)
    refuse(file.string() +
           " is no list of tokens of version 1; make the folder again with "
           "'pesuite data tokenize'");
  in >> name >> folder.vocabulary >> name >> folder.end_of_text >> name >> bytes_per_token >>
      name >> folder.digest;
  if (!in || folder.vocabulary < 1 || (bytes_per_token != 2 && bytes_per_token != 4))
    refuse(file.string() + " is damaged; make the folder again with 'pesuite data tokenize'");
  std::int32_t bytes = 0;
  while (in >> bytes) folder.token_bytes.push_back(bytes);
  if (!folder.token_bytes.empty() && std::ssize(folder.token_bytes) != folder.vocabulary)
    refuse(file.string() + " speaks of " + std::to_string(folder.vocabulary) + " tokens and has " +
           std::to_string(folder.token_bytes.size()) + "; it is damaged");
  return bytes_per_token;
}

}  // namespace

// --------------------------------------------------------------------------------------- stream

std::uint64_t Stream::Shard::documents() const {
  return index.front().size() / sizeof(std::uint64_t);
}
std::uint64_t Stream::Shard::begin(std::uint64_t document) const {
  std::uint64_t at;
  std::memcpy(&at, index.front().data() + document * sizeof(at), sizeof(at));
  return at;
}

void Stream::add(pes::TokenFile file, const fs::path& index) {
  first_.push_back(size() + file.size());
  shards_.push_back({std::move(file), {}});
  if (fs::exists(index)) shards_.back().index.emplace_back(index);
}

std::size_t Stream::shard_of(std::uint64_t at) const {
  return static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), at) -
                                  first_.begin());
}

void Stream::read(std::uint64_t at, std::size_t n, std::int32_t* out,
                  std::int32_t vocabulary) const {
  std::size_t s = shard_of(at);
  for (std::size_t i = 0; i < n; ++i, ++at) {
    while (at >= first_[s]) ++s;
    const pes::TokenFile& file = shards_[s].tokens;
    const std::uint64_t place = at - (first_[s] - file.size());
    const std::uint32_t token = file[place];
    if (token >= static_cast<std::uint32_t>(vocabulary))
      refuse(file.path().string() + ": token " + std::to_string(token) + " at place " +
             std::to_string(place) + " is outside the vocabulary of " + std::to_string(vocabulary) +
             ": the file is damaged, or was made with another tokenizer ('pesuite data verify' "
             "tells)");
    out[i] = static_cast<std::int32_t>(token);
  }
}

std::vector<std::uint64_t> Stream::documents(std::int64_t end_of_text, bool before) const {
  std::vector<std::uint64_t> out;
  for (std::size_t s = 0; s < shards_.size(); ++s) {
    const Shard& shard = shards_[s];
    const std::uint64_t first = first_[s] - shard.tokens.size();
    if (!shard.index.empty()) {
      for (std::uint64_t d = 0; d < shard.documents(); ++d) out.push_back(first + shard.begin(d));
      continue;
    }
    out.push_back(first);
    for (std::uint64_t i = 0; i < shard.tokens.size(); ++i)
      if (shard.tokens[i] == end_of_text) out.push_back(first + i + (before ? 0 : 1));
  }
  out.erase(std::unique(out.begin(), out.end()), out.end());
  while (!out.empty() && out.back() >= size()) out.pop_back();
  return out;
}

std::uint64_t Stream::next_document(std::uint64_t at, std::int64_t end_of_text, bool before) const {
  if (at >= size()) return size();
  for (std::size_t s = shard_of(at); s < shards_.size(); ++s) {
    const Shard& shard = shards_[s];
    const std::uint64_t first = first_[s] - shard.tokens.size();
    const std::uint64_t from = at > first ? at - first : 0;
    if (from == 0) return first;  // a shard begins with a document
    if (!shard.index.empty()) {
      std::uint64_t low = 0, high = shard.documents();
      while (low < high) {
        const std::uint64_t middle = (low + high) / 2;
        if (shard.begin(middle) < from)
          low = middle + 1;
        else
          high = middle;
      }
      if (low < shard.documents()) return first + shard.begin(low);
    } else {
      for (std::uint64_t i = before ? from : from - 1; i < shard.tokens.size(); ++i)
        if (shard.tokens[i] == end_of_text) return first + i + (before ? 0 : 1);
    }
  }
  return size();
}

// --------------------------------------------------------------------------------------- folder

Folder open(const fs::path& path, const Foreign& foreign) {
  if (!fs::is_directory(path))
    refuse("there is no folder '" + path.string() +
           "' of token shards; 'pesuite data tokenize' makes one from text");
  Folder f;
  Fingerprint fingerprint;
  const fs::path facts = path / "tokens.txt";
  const bool ours = fs::exists(facts);
  if (!ours && fs::exists(path / "tokenize.state"))
    refuse(path.string() + " is not finished: run its 'pesuite data tokenize' again");
  const int raw_bytes = ours ? read_facts(facts, f) : foreign.raw_bytes;
  for (const fs::path& file : token_files(path)) {
    pes::TokenFile tokens(file, raw_bytes);
    if (!ours) fingerprint.add(tokens);
    f.end_before = tokens.has_header();
    const std::string name = file.stem().string();
    Stream& stream = name.find("val") != std::string::npos      ? f.held_out
                     : name.find("filler") != std::string::npos ? f.filler
                                                                : f.train;
    stream.add(std::move(tokens), fs::path(file).replace_extension(".idx"));
    ++f.shards;
  }
  if (f.shards == 0) refuse("'" + path.string() + "' holds no token shards (.bin)");
  if (ours) return f;
  if (foreign.vocabulary < 1)
    refuse("'" + path.string() +
           "' has no tokens.txt that says how large the vocabulary is; write vocabulary=50257 or "
           "what its tokenizer has");
  f.vocabulary = foreign.vocabulary, f.end_of_text = foreign.end_of_text;
  f.digest = fingerprint.text();
  return f;
}

}  // namespace tokens
