// Parquet as other programs write it: DuckDB 1.5, Arrow's Rust library (parquet-wasm 0.8) and
// hyparquet-writer 0.17 wrote the files of parquet/, from texts.jsonl there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "data/documents.h"
#include "data/parquet.h"
#include "tests/failure.h"
#include "tests/scratch.h"

namespace pesuite::data {
namespace {

using pesuite::testing::failure;
using pesuite::testing::Scratch;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Strings = std::vector<std::string>;

const fs::path folder = fs::path(PESUITE_TEST_DIR) / "data/parquet";

Strings texts_of(const fs::path& file, const DocumentOptions& options = {},
                 const Cursor& cursor = {}) {
  Strings out;
  const auto all = open_documents({file}, options, cursor);
  for (Document d; all->next(d);) out.push_back(d.text);
  return out;
}
DocumentOptions of(const std::string& field) {
  DocumentOptions o;
  o.field = field;
  return o;
}

TEST(Parquet, GivesTheTextsThatOtherProgramsWrote) {
  const Strings texts = texts_of(folder / "texts.jsonl");
  ASSERT_EQ(texts.size(), 130u);
  int files = 0;
  for (const auto& item : fs::directory_iterator(folder)) {
    const std::string name = item.path().filename().string();
    if (!name.starts_with("duckdb") && !name.starts_with("arrow") && !name.starts_with("hyparquet"))
      continue;
    ++files;
    EXPECT_EQ(texts_of(item.path()), texts) << name;
    if (!name.starts_with("hyparquet")) {
      const Strings titles = texts_of(item.path(), of("meta.title"));
      ASSERT_EQ(titles.size(), 130u) << name;
      EXPECT_EQ(titles[8], "title 3") << name;
    }
  }
  EXPECT_EQ(files, 10);
  EXPECT_EQ(texts_of(folder / "empty.parquet"), Strings());
}

TEST(Parquet, GoesOnAtAnyRow) {
  const Strings texts = texts_of(folder / "texts.jsonl");
  for (const char* name : {"arrow_delta_byte_array_v1_snappy.parquet", "duckdb_zstd_v2.parquet"}) {
    const auto all = open_documents({folder / name});
    Document d;
    for (std::size_t i = 0; i <= texts.size(); ++i) {
      ASSERT_EQ(all->cursor().bytes, i) << name;
      if (i % 9 == 0 || i > 125) {
        const Strings rest(texts.begin() + static_cast<std::ptrdiff_t>(i), texts.end());
        EXPECT_EQ(texts_of(folder / name, {}, all->cursor()), rest) << name << ", row " << i;
      }
      EXPECT_EQ(all->next(d), i < texts.size());
    }
    EXPECT_EQ(all->bytes_read(), all->bytes());
  }
}

TEST(Parquet, CutsLongTextsAndReadsFoldersOfFiles) {
  const Scratch scratch;
  fs::copy(folder / "small.parquet", scratch / "b.parquet");
  fs::copy(folder / "small.parquet", scratch / "a.parquet");
  std::ofstream(scratch / "c.txt") << "text";
  EXPECT_EQ(texts_of(scratch / ""),
            (Strings{"one", "two", "two", "three", "one", "two", "two", "three", "text"}));
  DocumentOptions o;
  o.longest = 3;
  EXPECT_EQ(texts_of(folder / "small.parquet", o), (Strings{"one", "two", "two", "thr", "ee"}));
}

TEST(Parquet, SaysWhatCannotBeRead) {
  const auto why = [](const char* name, const std::string& column = "text") {
    return failure([&] { texts_of(folder / name, of(column)); });
  };
  EXPECT_THAT(why("nulls.parquet"),
              HasSubstr("row 42 has no text in its column 'text', it is null"));
  EXPECT_THAT(why("nulls.parquet", "meta.title"), HasSubstr("row 2 has no text"));
  EXPECT_THAT(why("duckdb_snappy_v1.parquet", "txt"),
              AllOf(HasSubstr("has no column 'txt'"), HasSubstr("'text', 'meta.title'")));
  EXPECT_THAT(why("duckdb_snappy_v1.parquet", "id"), HasSubstr("has no texts in its column 'id'"));
  EXPECT_THAT(why("duckdb_snappy_v1.parquet", "tags.list.element"), HasSubstr("has no texts"));
  EXPECT_THAT(why("no_rows.parquet"), HasSubstr("none of its columns has texts"));
  EXPECT_THAT(why("encrypted.parquet"), HasSubstr("is encrypted"));
}

// Whatever is cut or changed, the file is refused, or what it now says is read.
TEST(Parquet, OfDamagedFilesEndsInSentences) {
  const Scratch scratch;
  const std::string whole = read_file(folder / "small.parquet");
  const fs::path file = scratch / "x.parquet";
  const auto end_of = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    try {
      std::string text;
      ParquetTexts texts(file, "text");
      for (int rows = 0; rows < 1000 && texts.next(text);) ++rows;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Exit::data) << e.what();
      EXPECT_THAT(e.what(), HasSubstr(file.string()));
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(end_of(whole), "");
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_THAT(end_of(whole.substr(0, n)), HasSubstr("may have been cut")) << n;
  int refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ 1 << bit);
      refused += !end_of(changed).empty();
    }
  EXPECT_GT(refused, static_cast<int>(whole.size()));  // of eight times as many
}

}  // namespace
}  // namespace pesuite::data
