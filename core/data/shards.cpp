#include "data/shards.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace pesuite::data {

namespace {

constexpr std::size_t buffered = 4 << 20;  // bytes that wait in memory

[[noreturn]] void cannot_write(const fs::path& path, int error) {
  fail(Exit::data,
       "cannot write {}: {}; what is written so far is kept: free space or another "
       "folder's name, and the same command goes on",
       path.string(), std::strerror(error));
}

void write_all(int file, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) cannot_write(path, n < 0 ? errno : ENOSPC);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

// At the end of what it holds, cut to `size`.
int open_at(const fs::path& path, std::uint64_t size) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) cannot_write(path, errno);
  const off_t held = ::lseek(file, 0, SEEK_END);
  if (held < 0 || static_cast<std::uint64_t>(held) < size) {
    ::close(file);
    fail(Exit::data,
         "{} has {} bytes, and the checkpoint beside it speaks of {}: it was changed; "
         "--restart begins anew",
         path.string(), held, size);
  }
  if (::ftruncate(file, static_cast<off_t>(size)) != 0 || ::lseek(file, 0, SEEK_END) < 0) {
    const int error = errno;
    ::close(file);
    cannot_write(path, error);
  }
  return file;
}

std::string header_of(int bytes_per_token, std::uint64_t count) {
  using H = pes::TokenHeader;
  const bool narrow = bytes_per_token == 2;
  const std::int32_t words[3] = {narrow ? H::narrow_magic : H::wide_magic,
                                 narrow ? H::narrow_version : H::wide_version,
                                 static_cast<std::int32_t>(count)};
  std::string out(H::bytes, '\0');
  std::memcpy(out.data(), words, sizeof(words));
  return out;
}

}  // namespace

Format format_named(const std::string& name) {
  if (name == "nanogpt") return Format::nanogpt;
  if (name == "llmc") return Format::llmc;
  fail(Exit::usage, "there is no format '{}' of shards; known are llmc and nanogpt", name);
}
std::string_view format_name(Format f) {
  return f == Format::llmc ? "llmc" : "nanogpt";
}

// -------------------------------------------------------------------------------------- writing

ShardWriter::ShardWriter(fs::path folder, std::string split, Format format, int bytes_per_token,
                         std::uint64_t shard_tokens)
    : folder_(std::move(folder)),
      split_(std::move(split)),
      format_(format),
      bytes_per_token_(bytes_per_token),
      shard_tokens_(shard_tokens) {}

ShardWriter::~ShardWriter() {
  if (tokens_file_ >= 0) ::close(tokens_file_);
  if (index_file_ >= 0) ::close(index_file_);
}

fs::path ShardWriter::name(std::size_t number, const char* extension) const {
  return folder_ / fmt::format("{}_{:06}{}", split_, number, extension);
}

void ShardWriter::open(std::size_t number) {
  const std::uint64_t header = format_ == Format::llmc ? pes::TokenHeader::bytes : 0;
  const std::uint64_t size = now_.tokens * static_cast<std::uint64_t>(bytes_per_token_);
  const bool fresh = now_.documents == 0;
  if (fresh)
    for (const char* extension : {".bin.part", ".idx.part"}) fs::remove(name(number, extension));
  tokens_file_ = open_at(name(number, ".bin.part"), fresh ? 0 : header + size);
  index_file_ = open_at(name(number, ".idx.part"), now_.documents * sizeof(std::uint64_t));
  if (fresh) tokens_ = std::string(header, '\0');
}

void ShardWriter::add(std::span<const Token> document, std::uint64_t bytes) {
  if (tokens_file_ < 0) open(done_.size());
  const std::uint64_t begin = now_.tokens;
  index_.append(reinterpret_cast<const char*>(&begin), sizeof(begin));
  for (const Token t : document)
    tokens_.append(reinterpret_cast<const char*>(&t), static_cast<std::size_t>(bytes_per_token_));
  now_.tokens += document.size(), now_.bytes += bytes, ++now_.documents;
  if (tokens_.size() >= buffered) write_out();
  if (now_.tokens >= shard_tokens_) close_shard();
}

void ShardWriter::write_out() {
  if (tokens_file_ < 0) return;
  write_all(tokens_file_, tokens_, name(done_.size(), ".bin.part"));
  write_all(index_file_, index_, name(done_.size(), ".idx.part"));
  tokens_.clear(), index_.clear();
}

void ShardWriter::sync() {
  if (tokens_file_ < 0) return;
  write_out();
  for (const int file : {tokens_file_, index_file_})
    if (::fsync(file) != 0) cannot_write(name(done_.size(), ".bin.part"), errno);
}

void ShardWriter::close_shard() {
  write_out();
  const std::size_t number = done_.size();
  if (format_ == Format::llmc) {
    const std::string header = header_of(bytes_per_token_, now_.tokens);
    if (::pwrite(tokens_file_, header.data(), header.size(), 0) !=
        static_cast<ssize_t>(header.size()))
      cannot_write(name(number, ".bin.part"), errno);
  }
  sync();
  ::close(std::exchange(tokens_file_, -1));
  ::close(std::exchange(index_file_, -1));
  for (const char* extension : {".idx", ".bin"})
    fs::rename(name(number, extension) += ".part", name(number, extension));
  now_.split = split_;
  now_.file = name(number, ".bin").filename();
  now_.sha256 = sha256_file(folder_ / now_.file);
  done_.push_back(std::exchange(now_, {}));
}

std::vector<Shard> ShardWriter::finish() {
  if (tokens_file_ >= 0) close_shard();
  return done_;
}

Json ShardWriter::state() const {
  Json done = Json::array();
  for (const Shard& s : done_)
    done.push_back({{"tokens", s.tokens},
                    {"documents", s.documents},
                    {"bytes", s.bytes},
                    {"sha256", s.sha256}});
  return {{"done", std::move(done)},
          {"tokens", now_.tokens},
          {"documents", now_.documents},
          {"bytes", now_.bytes}};
}

void ShardWriter::resume(const Json& state) {
  const auto number = [](const Json& j, const char* key) { return j.at(key).get<std::uint64_t>(); };
  done_.clear();
  for (const Json& s : state.at("done"))
    done_.push_back({name(done_.size(), ".bin").filename(), split_, number(s, "tokens"),
                     number(s, "documents"), number(s, "bytes"), s.at("sha256")});
  now_ = {"", split_, number(state, "tokens"), number(state, "documents"), number(state, "bytes"),
          ""};
  // what got its name after the checkpoint becomes a part again, and later ones go
  for (const char* extension : {".bin", ".idx"}) {
    const fs::path whole = name(done_.size(), extension);
    if (now_.documents > 0 && fs::exists(whole)) fs::rename(whole, fs::path(whole) += ".part");
    for (std::size_t n = done_.size(); fs::exists(name(n, extension)); ++n)
      fs::remove(name(n, extension));
  }
  if (now_.documents > 0) open(done_.size());
}

// -------------------------------------------------------------------------------------- reading

OpenShard::OpenShard(const fs::path& folder, const Shard& shard, int bytes_per_token) try
    : shard_(shard),
      tokens_(folder / shard.file, bytes_per_token),
      index_((folder / shard.file).replace_extension(".idx")) {
  if (tokens_.size() != shard.tokens)
    fail(Exit::data, "{} has {} tokens, and its manifest says {}: it was cut or exchanged",
         tokens_.path().string(), tokens_.size(), shard.tokens);
  if (index_.size() != shard.documents * sizeof(std::uint64_t))
    fail(Exit::data, "the index beside {} is of {} documents, and the manifest says {}",
         tokens_.path().string(), index_.size() / sizeof(std::uint64_t), shard.documents);
} catch (const std::runtime_error& e) {
  throw Error(Exit::data, e.what());
}

std::uint64_t OpenShard::begin(std::uint64_t document) const {
  std::uint64_t at;
  std::memcpy(&at, index_.data() + document * sizeof(at), sizeof(at));
  if (at > tokens_.size())
    fail(Exit::data, "the index of {} says that document {} begins at token {} of {}",
         tokens_.path().string(), document, at, tokens_.size());
  return at;
}

std::vector<Token> OpenShard::document(std::uint64_t d) const {
  std::vector<Token> out;
  for (std::uint64_t i = begin(d); i < end(d); ++i) out.push_back(tokens_[i]);
  return out;
}

std::string text_of(const text::Tokenizer& t, Token id) {
  try {
    return t.decode(std::span(&id, 1), true);
  } catch (const Error&) {
    return "";
  }
}

std::string identity_of(const Manifest& m) {
  std::string all;
  for (const Shard& s : m.shards) all += s.sha256 + '\n';
  return sha256(all);
}

std::string tokens_text(const Manifest& m, const text::Tokenizer& t) {
  std::vector<std::size_t> bytes;
  for (Token id = 0; id < m.vocabulary; ++id) bytes.push_back(text_of(t, id).size());
  return tokens_text(m, bytes);
}

std::string tokens_text(const Manifest& m, std::span<const std::size_t> bytes) {
  std::string out = fmt::format(
      "pesuite tokens 1\nvocabulary {}\nend_of_text {}\nbytes_per_token {}\nidentity {}\n",
      m.vocabulary, m.end_of_text, m.bytes_per_token, identity_of(m));
  for (const std::size_t n : bytes) out += fmt::format("{}\n", n);
  return out;
}

void keep_tokenizer(const std::string& tokenizer, const fs::path& folder, Manifest& m) {
  const fs::path from = tokenizer;
  if (!fs::exists(from)) return;  // a built-in one
  if (!fs::is_directory(from)) {
    m.tokenizer_file = "tokenizer" + from.extension().string();
    write_file_atomic(folder / m.tokenizer_file, read_file(from));
    return;
  }
  m.tokenizer_file = "tokenizer";
  for (const char* name : {"tokenizer.json", "vocab.json", "merges.txt", "tokenizer.model"})
    if (fs::exists(from / name))
      write_file_atomic(folder / m.tokenizer_file / name, read_file(from / name));
}

std::unique_ptr<text::Tokenizer> tokenizer_of(const Manifest& m, const fs::path& folder) {
  if (!m.task.empty())
    fail(Exit::data, "the tokens in {} are those of task '{}', which have no tokenizer",
         folder.string(), m.task);
  auto t = text::open_tokenizer(m.tokenizer_file.empty() ? m.tokenizer
                                                         : (folder / m.tokenizer_file).string());
  if (t->digest() != m.tokenizer_sha256)
    fail(
        Exit::data,
        "the tokenizer in {} is not the one that its shards were made with: its SHA-256 is {}, and "
        "the manifest says {}",
        folder.string(), t->digest(), m.tokenizer_sha256);
  return t;
}

}  // namespace pesuite::data
