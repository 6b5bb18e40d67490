#include "data/parquet.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "data/parquet_metadata.h"
#include "data/parquet_values.h"
#include "data/unpack.h"

namespace pesuite::data {

namespace {

using parquet::Chunk, parquet::Damaged, parquet::Footer, parquet::Leaf, parquet::Page;

constexpr std::uint64_t longest_page = 1 << 30, longest_header = 64 << 20;
constexpr std::string_view magic = "PAR1", encrypted_magic = "PARE";

}  // namespace

bool is_parquet(const fs::path& path) {
  return path.extension() == ".parquet";
}

class ParquetTexts::Column {
 public:
  Column(const fs::path& path, const std::string& name, std::uint64_t first_row) : path_(path) {
    explained(false, [&] { open(name); });
    while (group_ < groups_.size() && first_row - row_ >= rows_of(group_))
      row_ += rows_of(group_++);
    begin_group();
    for (std::string away; row_ < first_row;)
      if (!next(away)) break;
  }

  bool next(std::string& text) {
    if (group_ == groups_.size()) return false;
    explained(true, [&] {
      while (left_in_page_ == 0) begin_page();
      if (levels_ && levels_->next() != static_cast<std::uint32_t>(leaf_.levels))
        fail(Exit::data, "{}: row {} has no text in its column '{}', it is null", path_.string(),
             row_ + 1, name_);
      text = texts_->next();
    });
    --left_in_page_, --left_in_group_, ++row_;
    if (left_in_group_ == 0) ++group_, begin_group();
    return true;
  }
  std::uint64_t row() const { return row_; }
  std::uint64_t packed_read() const { return group_ == groups_.size() ? size_ : at_; }

 private:
  // What is thrown about damage gets the file's name, and the place.
  template <class Body>
  void explained(bool in_row, Body&& body) {
    std::string why;
    try {
      return body();
    } catch (const Damaged& d) {
      why = d.what;
    } catch (const thrift::Damaged& d) {
      why = fmt::format("has {} in its metadata", d.what);
    } catch (const thrift::Ends&) {
      why = "has metadata that ends too early";
    }
    fail(Exit::data, "{} is damaged: {} {}", path_.string(),
         in_row ? fmt::format("row {}", row_ + 1) : "it", why);
  }

  std::string read(std::uint64_t at, std::uint64_t n) {
    if (at > size_ || n > size_ - at) throw Damaged{"goes on behind the end of the file"};
    std::string out(static_cast<std::size_t>(n), '\0');
    in_.clear();
    if (!in_.seekg(static_cast<std::streamoff>(at)) ||
        !in_.read(out.data(), static_cast<std::streamsize>(n)))
      fail(Exit::data, "cannot read {}", path_.string());
    return out;
  }

  void open(const std::string& name) {
    std::error_code error;
    if (!fs::is_regular_file(path_, error)) fail(Exit::data, "{} is no file", path_.string());
    in_.open(path_, std::ios::binary);
    if (!in_) cannot_open(path_);
    size_ = fs::file_size(path_);
    const std::string end = read(size_ < 12 ? 0 : size_ - 8, std::min<std::uint64_t>(size_, 8));
    if (end.ends_with(encrypted_magic)) fail(Exit::data, "{} is encrypted", path_.string());
    if (size_ < 12 || !end.ends_with(magic))
      fail(Exit::data, "{} does not end like a Parquet file; it may have been cut", path_.string());
    std::uint64_t length = 0;
    for (std::size_t i = 4; i-- > 0;) length = length << 8 | static_cast<std::uint8_t>(end[i]);
    if (length > size_ - 8) throw Damaged{"has metadata longer than the file"};
    find(parquet::footer_of(read(size_ - 8 - length, length)), name);
  }

  // The column of that name, in all groups of rows.
  void find(const Footer& footer, const std::string& name) {
    const std::vector<Leaf>& leaves = footer.leaves;
    const auto found = std::find_if(leaves.begin(), leaves.end(), [&](const Leaf& l) {
      return footer.name_size(l) == name.size() && footer.name_of(l) == name;
    });
    if (found == leaves.end() || !found->bytes || found->list)
      refuse(footer, name, found != leaves.end());
    leaf_ = *found, name_ = name;
    const auto column = static_cast<std::size_t>(found - leaves.begin());
    for (const parquet::Group& g : footer.groups) {
      if (g.rows < 0 || g.chunks.size() != leaves.size())
        throw Damaged{fmt::format("has a group of {} rows with {} of {} columns", g.rows,
                                  g.chunks.size(), leaves.size())};
      if (g.rows == 0) continue;
      const Chunk& c = g.chunks[column];
      if (c.encrypted) fail(Exit::data, "{}: column '{}' is encrypted", path_.string(), name);
      if (!c.here) fail(Exit::data, "{}: column '{}' stands in another file", path_.string(), name);
      if (!reads_codec(c.codec))
        fail(Exit::data,
             "{}: column '{}' is packed by {}, which is not read; write it with Snappy, gzip, "
             "Zstd, LZ4 (raw), Brotli or none",
             path_.string(), name, codec_name(c.codec));
      if (c.here && c.values != g.rows)
        throw Damaged{fmt::format("has {} texts in a group of {} rows", c.values, g.rows)};
      groups_.push_back(c);
    }
  }
  [[noreturn]] void refuse(const Footer& footer, const std::string& name, bool is) {
    std::vector<std::string> texts;
    for (const Leaf& l : footer.leaves)
      if (l.bytes && !l.list && texts.size() < 20 && footer.name_size(l) < 200)
        texts.push_back("'" + footer.name_of(l) + "'");
    fail(Exit::data, "{} has no {} '{}'; {}", path_.string(), is ? "texts in its column" : "column",
         name,
         texts.empty() ? "none of its columns has texts"
                       : "--field names one that has texts: " + join(texts, ", "));
  }

  std::uint64_t rows_of(std::size_t g) const {
    return static_cast<std::uint64_t>(groups_[g].values);
  }

  void begin_group() {
    if (group_ == groups_.size()) return;
    const Chunk& c = groups_[group_];
    left_in_group_ = rows_of(group_), left_in_page_ = 0;
    at_ = static_cast<std::uint64_t>(c.dictionary > 0 ? std::min(c.dictionary, c.data) : c.data);
    texts_.reset(), levels_.reset(), dictionary_.reset();
  }

  Page read_header() {
    for (std::uint64_t some = 1 << 12;; some *= 16) {
      if (at_ >= size_) throw Damaged{"lies behind the end of the file"};
      const std::string bytes = read(at_, std::min(some, size_ - at_));
      thrift::Reader in(bytes);
      try {
        const Page p = parquet::page_of(in);
        at_ += in.at();
        return p;
      } catch (const thrift::Ends&) {  // statistics may be long
        if (bytes.size() < some || some >= longest_header) throw;
      }
    }
  }

  void begin_page() {
    const Page p = read_header();
    if (p.size < 0 || p.packed < 0 || static_cast<std::uint64_t>(p.size) > longest_page)
      throw Damaged{fmt::format("has a page of {} bytes, {} packed", p.size, p.packed)};
    const std::string stored = read(at_, static_cast<std::uint64_t>(p.packed));
    at_ += stored.size();
    if (p.crc && *p.crc != crc32_z(0, reinterpret_cast<const Bytef*>(stored.data()), stored.size()))
      throw Damaged{"has a page with another checksum than it says"};
    if (p.kind == Page::dictionary) {
      unpacked(stored, p.size, dictionary_bytes_);
      dictionary_ = parquet::dictionary_of(dictionary_bytes_, p.values);
    } else if (p.kind == Page::data || p.kind == Page::data_2) {
      begin_data(p, stored);
    }
  }

  void begin_data(const Page& p, const std::string& stored) {
    if (p.values < 0 || static_cast<std::uint64_t>(p.values) > left_in_group_)
      throw Damaged{
          fmt::format("has a page of {} values, where {} are left", p.values, left_in_group_)};
    std::string_view values, levels;
    if (p.kind == Page::data_2) {
      const std::int64_t most = std::min(p.packed, p.size);
      if (p.level_bytes < 0 || p.list_level_bytes < 0 || p.level_bytes > most ||
          p.list_level_bytes > most - p.level_bytes)
        throw Damaged{"has a page shorter than its levels"};
      const std::int64_t before = p.level_bytes + p.list_level_bytes;
      const std::string_view all = stored;
      if (p.is_packed && p.size > before)
        unpacked(all.substr(static_cast<std::size_t>(before)), p.size - before, page_);
      else
        page_ = all.substr(static_cast<std::size_t>(before));
      level_bytes_ = all.substr(static_cast<std::size_t>(p.list_level_bytes),
                                static_cast<std::size_t>(p.level_bytes));
      values = page_, levels = level_bytes_;
    } else {
      unpacked(stored, p.size, page_);
      values = page_;
      if (leaf_.levels > 0) levels = take_levels(p, values);
    }
    int width = 0;
    while (leaf_.levels >> width) ++width;
    levels_.reset();
    if (width > 0) levels_.emplace(levels, width);
    texts_ = parquet::texts_of(p.encoding, values, dictionary_ ? &*dictionary_ : nullptr);
    left_in_page_ = static_cast<std::uint64_t>(p.values);
  }
  // Which rows have a text, behind how many bytes that takes.
  std::string_view take_levels(const Page& p, std::string_view& values) const {
    constexpr int runs = 3;
    if (p.level_encoding != runs)
      throw Damaged{fmt::format("has a page with levels in encoding {}", p.level_encoding)};
    std::uint64_t n = 0;
    if (values.size() < 4) throw Damaged{"has a page shorter than its levels"};
    for (std::size_t i = 4; i-- > 0;) n = n << 8 | static_cast<std::uint8_t>(values[i]);
    if (n > values.size() - 4) throw Damaged{"has a page shorter than its levels"};
    const std::string_view levels = values.substr(4, static_cast<std::size_t>(n));
    values.remove_prefix(4 + static_cast<std::size_t>(n));
    return levels;
  }
  void unpacked(std::string_view stored, std::int64_t size, std::string& out) const {
    const std::int64_t codec = groups_[group_].codec;
    if (!unpack(codec, stored, static_cast<std::size_t>(size), out))
      throw Damaged{fmt::format("has a page that cannot be unpacked ({})", codec_name(codec))};
  }

  fs::path path_;
  std::ifstream in_;
  std::uint64_t size_ = 0;
  std::string name_;
  Leaf leaf_;
  std::vector<Chunk> groups_;  // of rows, with the column in them
  std::size_t group_ = 0;
  std::uint64_t row_ = 0, at_ = 0, left_in_group_ = 0, left_in_page_ = 0;
  std::string dictionary_bytes_, page_, level_bytes_;  // what texts are parts of
  std::optional<parquet::Dictionary> dictionary_;
  std::optional<parquet::Runs> levels_;
  std::unique_ptr<parquet::Texts> texts_;
};

ParquetTexts::ParquetTexts(const fs::path& path, const std::string& column, std::uint64_t first_row)
    : column_(std::make_unique<Column>(path, column, first_row)) {}
ParquetTexts::~ParquetTexts() = default;
bool ParquetTexts::next(std::string& text) {
  return column_->next(text);
}
std::uint64_t ParquetTexts::row() const {
  return column_->row();
}
std::uint64_t ParquetTexts::packed_read() const {
  return column_->packed_read();
}

}  // namespace pesuite::data
