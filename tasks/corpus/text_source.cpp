#include "text_source.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <pesuite/pesuite.hpp>
#include <set>

namespace text {

namespace {

// Bytes of the UTF-8 sequence that starts `s`, 0 when it is none (Unicode 15, table 3-7).
std::size_t sequence_length(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || s.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) > 0x9F;
  const bool beyond = lead == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

// Nothing where it cannot be read.
std::optional<std::string> read_bytes(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  if (error) return {};
  std::string bytes(size, 0);
  std::ifstream in(file, std::ios::binary);
  in.read(bytes.data(), std::ssize(bytes));
  if (!in) return {};
  return bytes;
}

// Regular files below `folder`, sorted; links to folders are not followed.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  const auto options = fs::directory_options::skip_permission_denied;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, options)) {
    std::error_code broken_link;
    if (entry.is_regular_file(broken_link)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Files to hold out, in the order of their digests until `share` of the bytes is reached. None when
// there are too few files, or all are larger than that.
std::vector<bool> choose_files(const std::vector<std::string>& texts, double share) {
  constexpr std::size_t many = 8;
  std::vector<bool> chosen(texts.size(), false);
  if (texts.size() < many) return chosen;
  std::vector<std::pair<Digest, std::size_t>> order;
  double wanted = 0, bytes = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    order.emplace_back(digest(texts[i]), i);
    wanted += share * static_cast<double>(texts[i].size());
  }
  std::sort(order.begin(), order.end());
  for (const auto& [hash, i] : order) {
    const auto size = static_cast<double>(texts[i].size());
    if (bytes >= wanted || size > wanted) continue;
    chosen[i] = true;
    bytes += size;
  }
  return chosen;
}

Split cut_by_position(std::string text, double share) {
  auto cut = static_cast<std::size_t>(static_cast<double>(text.size()) * (1 - share));
  while (cut < text.size() && (text[cut] & 0xC0) == 0x80) ++cut;  // not inside a character
  std::string held_out = text.substr(cut);
  text.resize(cut);
  return {std::move(text), std::move(held_out)};
}

}  // namespace

Digest digest(std::string_view bytes) {
  Digest h = {pes::hash64("text, high"), pes::hash64("text, low")};
  const auto mix = [&](std::uint64_t word) {
    h = {pes::mix64(h[0], word), pes::mix64(h[1], word)};
  };
  mix(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;  // the last one is filled up with zeros
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(&word, bytes.data() + i, std::min(sizeof(word), bytes.size() - i));
    mix(word);
  }
  return h;
}

std::string hexadecimal(const Digest& d) {
  char out[33];
  std::snprintf(out, sizeof(out), "%016llx%016llx", static_cast<unsigned long long>(d[0]),
                static_cast<unsigned long long>(d[1]));
  return out;
}

bool is_text(std::string_view bytes) {
  if (bytes.empty() || bytes.find('\0') != std::string_view::npos) return false;
  while (!bytes.empty()) {
    const std::size_t length = sequence_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

fs::path at_home(const fs::path& path) {
  const char* home = std::getenv("HOME");
  if (home == nullptr || path.empty() || *path.begin() != "~") return path;
  return home / path.lexically_relative("~");
}

std::optional<Named> named_splits(const fs::path& folder) {
  const Named plain{folder / "train.txt", folder / "validation.txt"};
  std::error_code error;  // of what cannot be looked at, read() says why
  if (fs::is_regular_file(plain.train, error) && fs::is_regular_file(plain.held_out, error))
    return plain;
  // else by the last word of a name: "TinyStoriesV2-GPT4-train", "x_valid"
  const auto ends_in = [](const std::string& stem, std::string_view word) {
    if (!stem.ends_with(word)) return false;
    const std::size_t before = stem.size() - word.size();
    return before == 0 || std::string_view("-_.").find(stem[before - 1]) != std::string_view::npos;
  };
  std::vector<fs::path> train, held_out;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    std::error_code broken_link;
    if (!entry.is_regular_file(broken_link) || entry.path().extension() != ".txt") continue;
    std::string stem = entry.path().stem().string();
    for (char& c : stem) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (ends_in(stem, "train")) train.push_back(entry.path());
    for (const std::string_view word : {"validation", "valid", "val"})
      if (ends_in(stem, word)) held_out.push_back(entry.path());
  }
  if (train.size() != 1 || held_out.size() != 1) return std::nullopt;
  return Named{train.front(), held_out.front()};
}

Files read(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error))
    throw pes::Refusal("there is no '" + path.string() + "'" +
                       (error ? " (" + error.message() + ")" : ""));
  const bool folder = fs::is_directory(path, error);
  Files files;
  std::set<Digest> seen;
  for (const fs::path& file : folder ? files_below(path) : std::vector<fs::path>{path}) {
    std::optional<std::string> bytes = read_bytes(file);
    if (!bytes && !folder) throw pes::Refusal("cannot read '" + file.string() + "'");
    if (!bytes)
      ++files.unreadable;
    else if (!is_text(*bytes))
      ++files.skipped;
    else if (!seen.insert(digest(*bytes)).second)
      ++files.duplicates;
    else
      files.texts.push_back(std::move(*bytes));
  }
  if (files.texts.empty())
    throw pes::Refusal("'" + path.string() + "' holds no UTF-8 text" +
                       (folder ? " (" + std::to_string(files.skipped) + " other files, " +
                                     std::to_string(files.unreadable) + " that cannot be read)"
                               : ""));
  return files;
}

std::string describe(const Files& files) {
  std::string remarks;
  const auto remark = [&](int n, const char* what) {
    if (n > 0) remarks += (remarks.empty() ? "" : ", ") + std::to_string(n) + what;
  };
  remark(files.skipped, " skipped, not UTF-8 text");
  remark(files.unreadable, " skipped, cannot be read");
  remark(files.duplicates, " skipped, a copy of another");
  return std::to_string(files.texts.size()) + (files.texts.size() == 1 ? " file" : " files") +
         (remarks.empty() ? "" : " (" + remarks + ")");
}

std::string join(std::vector<std::string> texts) {
  if (texts.size() == 1) return std::move(texts.front());
  std::string all;
  for (const std::string& t : texts) {
    if (!all.empty()) all += "\n\n";
    all += t;
  }
  return all;
}

Split split(std::vector<std::string> texts, double share) {
  const std::vector<bool> chosen = choose_files(texts, share);
  if (std::find(chosen.begin(), chosen.end(), true) == chosen.end())
    return cut_by_position(join(std::move(texts)), share);
  std::vector<std::string> train, held_out;
  for (std::size_t i = 0; i < texts.size(); ++i)
    (chosen[i] ? held_out : train).push_back(std::move(texts[i]));
  return {join(std::move(train)), join(std::move(held_out))};
}

}  // namespace text
