// Text from elsewhere: downloads that break off, published layouts, pages, packages of Debian.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "data/debian.h"
#include "data/download.h"
#include "data/fetched.h"
#include "data/html.h"
#include "data/published.h"
#include "tests/data/http_server.h"
#include "tests/failure.h"
#include "tests/scratch.h"

namespace pesuite::data {
namespace {

using pesuite::testing::failure;
using pesuite::testing::HttpServer;
using pesuite::testing::Scratch;
using ::testing::HasSubstr;

const std::atomic<bool> never{false};

std::string random_bytes(std::size_t n) {
  std::string out(n, '\0');
  std::uint32_t x = 1;
  for (char& c : out) x = x * 1664525 + 1013904223, c = static_cast<char>(x >> 24);
  return out;
}
bool get(const std::string& url, const fs::path& to, const std::string& sha = "",
         std::uint64_t most = 1 << 30) {
  return download({url, to, sha, most, 0.001}, never, [](std::uint64_t) {});
}

class Downloads : public ::testing::Test {
 protected:
  HttpServer server;
  Scratch folder;
  const std::string content = random_bytes(200'000);
};

TEST_F(Downloads, GoOnWhereTheyBrokeOff) {
  server.put("/a", {.content = content, .cut = 3});
  ASSERT_TRUE(get(server.url("/a"), folder / "a", sha256(content)));
  EXPECT_EQ(read_file(folder / "a"), content);
  EXPECT_EQ(server.asked(),
            (std::vector<std::string>{"/a 0", "/a 100000", "/a 150000", "/a 175000"}));
  ASSERT_TRUE(get(server.url("/a"), folder / "a"));  // it is there
  EXPECT_EQ(server.asked().size(), 4u);
}

TEST_F(Downloads, BeginAnewWhereTheServerKnowsNoRanges) {
  server.put("/a", {.content = content, .ranges = false, .cut = 1});
  ASSERT_TRUE(get(server.url("/a"), folder / "a", sha256(content)));
  EXPECT_EQ(read_file(folder / "a"), content);
}

TEST_F(Downloads, WaitForWhatPassesAndRefuseWhatDoesNot) {
  server.put("/a", {.content = content, .refuse = 2, .code = 503});
  EXPECT_TRUE(get(server.url("/a"), folder / "a"));
  server.put("/b", {.content = content, .refuse = 99, .code = 429});
  EXPECT_THAT(failure([&] { get(server.url("/b"), folder / "b"); }), HasSubstr("in 5 tries"));
  EXPECT_THAT(failure([&] { get(server.url("/nowhere"), folder / "c"); }), HasSubstr("404"));
  EXPECT_THAT(failure([&] { get("file:///etc/passwd", folder / "d"); }), HasSubstr("cannot fetch"));
  EXPECT_THAT(failure([&] { get(server.url("/a"), folder / "e", std::string(64, '0')); }),
              HasSubstr("its SHA-256 is"));
  EXPECT_THAT(failure([&] { get(server.url("/a"), folder / "f", "", 1000); }),
              HasSubstr("larger than"));
  for (const char* name : {"b", "c", "d", "e", "f"}) EXPECT_FALSE(fs::exists(folder / name));
}

Imported imported(const std::vector<Part>& parts, const fs::path& to) {
  Imported out;
  EXPECT_TRUE(import_parts(
      parts, "x", to, never, [](const ImportProgress&) {}, out));
  return out;
}
std::vector<std::string> texts_of(const fs::path& folder, const std::string& prefix) {
  std::vector<std::string> out;
  const auto all = open_documents({folder});
  for (Document d; all->next(d);)
    if (d.file.filename().string().starts_with(prefix)) out.push_back(d.text);
  return out;
}

TEST_F(Downloads, ComeWhenTheyAreReachedAndGo) {
  Fetching f;
  f.folder = folder / "d", f.stop = &never;
  std::vector<std::string> said;
  f.say = [&](const std::string& s) { said.push_back(s); };
  for (const char* name : {"/a.txt", "/b.txt", "/c.txt", "/d.txt"}) {
    server.put(name, {.content = std::string(name) + "\n--\nmore of " + name});
    f.files.push_back({server.url(name), "", 5});
  }
  f.documents.separator = "--";
  const auto names = [&] {
    std::vector<std::string> out;
    for (const auto& item : fs::directory_iterator(f.folder))
      out.push_back(item.path().filename().string());
    std::sort(out.begin(), out.end());
    return out;
  };
  const auto all = fetched_documents(f);
  EXPECT_TRUE(server.asked().empty());
  std::vector<std::string> texts;
  std::vector<Cursor> cursors = {all->cursor()};
  for (Document d; all->next(d);) {
    texts.push_back(d.text);
    cursors.push_back(all->cursor());
    EXPECT_LE(names().size(), 2u);
  }
  ASSERT_EQ(texts.size(), 8u);
  EXPECT_EQ(texts[5], "more of /c.txt");
  EXPECT_EQ(names(), (std::vector<std::string>{"00002-c.txt", "00003-d.txt"}));
  EXPECT_THAT(said.back(), HasSubstr("fetching d.txt, 4 of 4 files"));
  for (std::size_t i = 0; i < cursors.size(); ++i) {  // what went is fetched again
    const auto rest = fetched_documents(f, cursors[i]);
    std::size_t at = i;
    for (Document d; rest->next(d); ++at) EXPECT_EQ(d.text, texts.at(at));
    EXPECT_EQ(at, texts.size());
  }
  f.keep = true;
  const auto kept = fetched_documents(f);
  for (Document d; kept->next(d);) {
  }
  EXPECT_EQ(names().size(), 4u);
}

class Published : public ::testing::Test {
 protected:
  Published() {
    o.base = server.url(), o.downloads = folder / "d", o.stop = &never;
    o.say = [](const std::string&) {};
  }
  static std::string table(const char* name) {
    return read_file(fs::path(PESUITE_TEST_DIR) / "data/parquet" / name);
  }
  using Strings = std::vector<std::string>;
  HttpServer server;
  Scratch folder;
  PublishedOptions o;
};

TEST_F(Published, IsCutAtItsSeparators) {
  const std::string at = "/datasets/roneneldan/TinyStories/resolve/main/TinyStoriesV2-GPT4-";
  server.put(at + "train.txt", {.content = "One.\n<|endoftext|>\nTwo.\n<|endoftext|>\n", .cut = 1});
  server.put(at + "valid.txt", {.content = "Three.\n"});
  EXPECT_EQ(imported(published_parts("tinystories", o), folder / "t").documents, 3u);
  EXPECT_EQ(texts_of(folder / "t", "documents"), (std::vector<std::string>{"One.\n", "Two.\n"}));
  EXPECT_EQ(texts_of(folder / "t", "validation"), std::vector<std::string>{"Three.\n"});
}

TEST_F(Published, IsListedPageByPage) {
  const std::string repository = "/api/datasets/cerebras/SlimPajama-627B/tree/main/";
  server.put(repository + "train/chunk1",
             {.content = R"([{"type": "file", "path": "train/chunk1/b.jsonl.zst", "size": 9},
                      {"type": "directory", "path": "train/chunk1/x"},
                      {"type": "file", "path": "train/chunk1/c.jsonl.zst"}])",
              .header = "link: <" + server.url("/first") + R"(>; rel="first", <)" +
                        server.url("/second?cursor=x") + R"(>; rel="next")"});
  server.put("/second?cursor=x",
             {.content = R"([{"type": "file", "path": "train/chunk1/a.jsonl.zst"}])",
              .header = "Link: <" + server.url("/second?cursor=x") + ">; rel=\"next\""});
  server.put(repository + "validation/chunk1",
             {.content = R"([{"type": "file", "path": "validation/chunk1/v.jsonl.zst"}])"});
  o.most_shards = 3;
  ASSERT_EQ(published_parts("slimpajama", o).size(), 2u);
  EXPECT_THAT(failure([&] { imported(published_parts("slimpajama", o), folder / "t"); }),
              HasSubstr("train/chunk1/a.jsonl.zst"));
  server.put("/datasets/cerebras/SlimPajama-627B/resolve/main/train/chunk1/a.jsonl.zst",
             {.content = "no Zstd"});
  EXPECT_THAT(failure([&] { imported(published_parts("slimpajama", o), folder / "t"); }),
              HasSubstr("00000-a.jsonl.zst is damaged"));
  EXPECT_THAT(failure([&] { published_parts("slimpyjama", o); }), HasSubstr("did you mean"));
  server.put(repository + "train/chunk1", {.content = "[]"});
  for (int i = 2; i <= 10; ++i)
    server.put(repository + "train/chunk" + std::to_string(i), {.content = "[]"});
  EXPECT_THAT(failure([&] { published_parts("slimpajama", o); }),
              HasSubstr("has their place changed"));
}

TEST_F(Published, ComesAsTables) {
  server.put("/api/datasets/HuggingFaceFW/fineweb-edu/tree/main/sample/10BT",
             {.content = R"([{"type": "file", "path": "sample/10BT/000_00000.parquet"},
                             {"type": "file", "path": "sample/10BT/001_00000.parquet"}])"});
  server.put("/datasets/HuggingFaceFW/fineweb-edu/resolve/main/sample/10BT/000_00000.parquet",
             {.content = table("small.parquet")});
  o.most_shards = 1;
  imported(published_parts("fineweb-edu", o), folder / "t");
  EXPECT_EQ(texts_of(folder / "t", "documents"), (Strings{"one", "two", "two", "three"}));
}

TEST_F(Published, OfWikiTextIsWholeArticles) {
  server.put("/api/datasets/Salesforce/wikitext/tree/main/wikitext-103-raw-v1",
             {.content = R"([{"type": "file", "path": "wikitext-103-raw-v1/test-0.parquet"},
                             {"type": "file", "path": "wikitext-103-raw-v1/train-0.parquet"},
                             {"type": "file", "path": "wikitext-103-raw-v1/train-1.parquet"},
                             {"type": "file", "path": "wikitext-103-raw-v1/validation-0.parquet"}])"});
  const std::string at = "/datasets/Salesforce/wikitext/resolve/main/wikitext-103-raw-v1/";
  server.put(at + "train-0.parquet", {.content = table("wikitext_0.parquet")});
  server.put(at + "train-1.parquet", {.content = table("wikitext_1.parquet")});
  server.put(at + "validation-0.parquet", {.content = table("wikitext_1.parquet")});
  imported(published_parts("wikitext-103", o), folder / "t");
  EXPECT_EQ(texts_of(folder / "t", "documents"),
            (Strings{" = A = \n\n text \n = = Part = = \n more \n", " = B = \n\n text of B \n"}));
  EXPECT_EQ(texts_of(folder / "t", "validation"),
            (Strings{" more \n", " = B = \n\n text of B \n"}));
}

TEST_F(Published, OfBooksLiesInABucket) {
  const std::string at = "/datasets/deepmind/pg19/resolve/main/data/";
  server.put(at + "train_files.txt", {.content = "train/10.txt\ntrain/2.txt\n"});
  server.put(at + "validation_files.txt", {.content = "validation/7.txt\n"});
  server.put("/deepmind-gutenberg/train/10.txt", {.content = "Ten.\n"});
  server.put("/deepmind-gutenberg/train/2.txt", {.content = "Two.\n"});
  server.put("/deepmind-gutenberg/validation/7.txt", {.content = "Seven.\n"});
  imported(published_parts("pg-19", o), folder / "t");
  EXPECT_EQ(texts_of(folder / "t", "documents"), (Strings{"Ten.\n", "Two.\n"}));
  EXPECT_EQ(texts_of(folder / "t", "validation"), Strings{"Seven.\n"});
}

TEST_F(Published, OfTheHubIsItsFirstKindOfFile) {
  const auto listing = [](const std::vector<std::string>& paths) {
    Json all = Json::array();
    for (const std::string& p : paths) all.push_back({{"type", "file"}, {"path", p}});
    return all.dump();
  };
  server.put("/api/datasets/a/b/tree/main?recursive=true",
             {.content = listing({"README.md", "data/train 0.parquet", "data/test-0.parquet",
                                  "data/validation-0.parquet", "train.txt"})});
  server.put("/api/datasets/a/b/tree/main/data?recursive=true",
             {.content = listing({"data/train 0.parquet", "data/test-0.parquet"})});
  server.put("/api/datasets/a/c/tree/main?recursive=true",
             {.content = listing({"valid.jsonl", "README.md"})});
  server.put("/api/datasets/a/d/tree/main?recursive=true", {.content = "[1, {\"path\": 2}]"});
  const std::string at = "/datasets/a/b/resolve/main/data/";
  server.put(at + "train%200.parquet", {.content = table("small.parquet")});
  server.put(at + "validation-0.parquet", {.content = table("wikitext_1.parquet")});
  server.put(at + "test-0.parquet", {.content = table("wikitext_0.parquet")});
  server.put("/datasets/a/c/resolve/main/valid.jsonl", {.content = "{\"body\": \"one\"}\n"});

  const Strings words = {"one", "two", "two", "three"};
  imported(published_parts("hub:a/b", o), folder / "t");
  EXPECT_EQ(texts_of(folder / "t", "documents"), words);
  EXPECT_EQ(texts_of(folder / "t", "validation").size(), 3u);  // a row is blank
  o.downloads = folder / "e";
  imported(published_parts("hub:a/b/data/tr", o), folder / "u");
  EXPECT_EQ(texts_of(folder / "u", "documents"), words);
  o.downloads = folder / "f", o.documents.field = "body";
  imported(published_parts("hub:a/c", o), folder / "v");  // all that there is
  EXPECT_EQ(texts_of(folder / "v", "documents"), Strings{"one"});
  o.downloads = folder / "g", o.documents.field = "text";
  imported(published_parts("hub:a/b/data/test", o), folder / "w");
  EXPECT_EQ(texts_of(folder / "w", "documents").size(), 3u);

  const auto why = [&](const char* name) { return failure([&] { published_parts(name, o); }); };
  EXPECT_THAT(why("hub:a"), HasSubstr("hub:OWNER/NAME"));
  EXPECT_THAT(why("hub:a/b/data/none"),
              HasSubstr("has no file to train on whose path begins with"));
  EXPECT_THAT(why("hub:a/d"), HasSubstr("has no file to train on"));
  EXPECT_THAT(why("hub:a/nothing"), HasSubstr("404"));
}

TEST_F(Published, ComesFromAListOfAddresses) {
  const std::string line = "{\"text\": \"a\"}\n", other = "{\"text\": \"b\"}\n";
  server.put("/x.jsonl", {.content = line}), server.put("/y.jsonl", {.content = other});
  std::ofstream(folder / "list") << server.url("/x.jsonl") << " " << sha256(line) << "\n# none\n"
                                 << server.url("/y.jsonl") << "\n";
  o.list = folder / "list";
  imported(published_parts("fineweb-edu", o), folder / "t");
  EXPECT_EQ(texts_of(folder / "t", "documents"), (Strings{"a", "b"}));
}

TEST(Import, IsReadByTheFilesItNames) {
  const Scratch in, out;
  std::ofstream(in / "a.txt") << "what was imported";
  const std::vector<fs::path> paths = {fs::path(in)};
  Part part;
  part.prefix = "documents", part.source.name = "x";
  part.open = [&](const Cursor& c) { return open_documents(paths, {}, c); };
  const fs::path folder = out / "text";
  imported({part}, folder);
  fs::create_directories(folder / "downloads");
  std::ofstream(folder / "downloads/page.txt") << "what it was made from";
  std::ofstream(folder / "NOTES.txt") << "what somebody wrote beside it";
  const auto documents = open_documents({folder}, {}, {});
  Document d;
  ASSERT_TRUE(documents->next(d));
  EXPECT_EQ(d.text, "what was imported");
  EXPECT_FALSE(documents->next(d));

  Imported again;
  EXPECT_TRUE(is_imported("x", folder, again));
  EXPECT_EQ(again.documents, 1u);
  EXPECT_FALSE(is_imported("x", out / "nowhere", again));
  fs::remove(folder / "documents-00000.jsonl.zst");
  EXPECT_THAT(failure([&] { open_documents({folder}, {}, {}); }), HasSubstr("is not there"));
  std::ofstream(folder / "import.state") << "{}";
  EXPECT_THAT(failure([&] { open_documents({folder}, {}, {}); }), HasSubstr("did not end"));
}

TEST(Import, GoesOnBehindItsLastWholeFile) {
  const Scratch in, out;
  for (int i = 0; i < 40; ++i)
    std::ofstream(in / fmt::format("{:02}.txt", i))
        << std::string(100, static_cast<char>('a' + i % 26)) << i;
  const std::vector<fs::path> paths = {fs::path(in)};
  Part part;
  part.prefix = "documents", part.source.name = "x";
  part.open = [&](const Cursor& c) { return open_documents(paths, {}, c); };
  Imported whole, pieces;
  std::atomic<bool> stop{false};
  const auto quiet = [](const ImportProgress&) {};
  ASSERT_TRUE(import_parts({part}, "x", out / "whole", stop, quiet, whole, 500));
  // stopped while a later document is read, again and again
  int opened = 0, calls = 0;
  Part halting = part;
  halting.open = [&](const Cursor& c) {
    ++opened;
    return open_documents(paths, {}, c);
  };
  const auto after_some = [&](const ImportProgress&) { stop = ++calls % 3 == 0; };
  for (int n = 0; n < 3; ++n) {
    stop = false;
    import_parts({halting}, "x", out / "pieces", stop, after_some, pieces, 500);
  }
  stop = false;
  pieces = {};
  ASSERT_TRUE(import_parts({halting}, "x", out / "pieces", stop, quiet, pieces, 500));
  EXPECT_EQ(pieces.files, whole.files);
  EXPECT_EQ(read_file(out / "pieces/source.json"), read_file(out / "whole/source.json"));
  EXPECT_THAT(failure([&] { import_parts({part}, "y", out / "whole", stop, quiet, whole, 500); }),
              HasSubstr("holds another import"));
}

TEST(WikiText, IsCutAtTitles) {
  const Scratch folder;
  std::ofstream(folder / "a.raw") << " \n = A = \n text \n = = Part = = \n more\n = B = \n text";
  const std::vector<std::string> want = {" = A = \n text \n = = Part = = \n more\n",
                                         " = B = \n text\n"};
  for (std::size_t from = 0; from <= want.size(); ++from) {
    const auto all = wikitext_articles(open_documents({folder / "a.raw"}), {0, from});
    Document d;
    for (std::size_t i = from; i < want.size(); ++i) {
      ASSERT_TRUE(all->next(d));
      EXPECT_EQ(d.text, want[i]);
      EXPECT_EQ(all->cursor().bytes, i + 1);
    }
    EXPECT_FALSE(all->next(d));
  }
}

TEST(Html, LeavesTheTextOfAPage) {
  if (!reads_html()) GTEST_SKIP() << "built without Gumbo";
  const std::string text = text_of_html(
      "<html><head><title>x</title><style>p {}</style></head><body><nav>menu</nav><div role='main'>"
      "<h1>Title<a class='headerlink'>#</a></h1><p>One &amp; two\n  three.</p><pre>a\n  b</pre><ul>"
      "<li>item<li>other</ul><script>evil()</script></div><footer>end</footer></body>");
  EXPECT_EQ(text, "Title\n\nOne & two three.\n\na\n  b\n\n* item\n* other\n\n");
  EXPECT_NO_THROW(text_of_html(std::string(20000, '<')));
  std::string deep;
  for (int i = 0; i < 3000; ++i) deep += "<div>";
  EXPECT_NO_THROW(text_of_html(deep + "x"));
}

TEST(Debian, ReadsEachDocumentOnceInItsBestForm) {
  const Scratch folder;
  const auto put = [&](const std::string& name, const std::string& text) {
    const fs::path file = folder / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  };
  const std::string long_text(300, 'x');
  put("usr/share/doc/p/html/a.html", "<p>" + long_text);
  put("usr/share/doc/p/html/_sources/a.rst.txt", ".. SPDX-License-Identifier: X\n" + long_text);
  put("usr/share/doc/p/b.txt", long_text);
  put("usr/share/doc/p/fr/c.txt", long_text);
  put("usr/share/doc/p/index.html.de", long_text);
  put("usr/share/doc/p/copyright", "License: GPL-2\n text\nLicense: MIT\nLicense: GPL-2\n");
  put("usr/share/doc/p/genindex.html", "<p>" + long_text);
  std::vector<std::string> names;
  for (const fs::path& f : documentation_files(folder)) names.push_back(f.filename());
  EXPECT_EQ(names, (std::vector<std::string>{"a.rst.txt", "b.txt"}));
  EXPECT_EQ(documentation_text(folder / "usr/share/doc/p/html/_sources/a.rst.txt"), long_text);
  EXPECT_EQ(licence_note(read_file(folder / "usr/share/doc/p/copyright")), "GPL-2, MIT");
  EXPECT_EQ(licence_note("nothing"), "see the package's copyright file");
}

}  // namespace
}  // namespace pesuite::data
