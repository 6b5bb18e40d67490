// Bundles come back as they were, and hostile ones do not come at all.
#include "bundle/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#ifdef PESUITE_HAS_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif

#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "bundle/archive.h"
#include "tests/cell/planned.h"
#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;

class Bundles : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!archives_are_built_in()) GTEST_SKIP() << "built without libarchive";
    write_file_atomic(run_ / "records.jsonl", "{\"a\": 1}\n");
    write_file_atomic(run_ / "plan.json", plan_of_a_cell("ab12ab12ab12ab12").dump());
    write_file_atomic(run_ / "figures" / "a.svg", std::string(100'000, 'x'));
    write_file_atomic(run_ / ".lock", "");
    write_file_atomic(store_.training("ab12ab12ab12ab12"), "{}\n");
    write_file_atomic(store_.checkpoint("ab12ab12ab12ab12"), "weights");
  }
  // What is said when a bundle is refused, of which nothing stays.
  std::string refused(const fs::path& file, const ImportOptions& options = {}) {
    try {
      import_bundle(file, folder_ / "to", options);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Exit::data);
      for (const auto& item : fs::recursive_directory_iterator(folder_ / "to"))
        ADD_FAILURE() << item.path() << " was left";
      return e.what();
    }
    ADD_FAILURE() << file << " was taken";
    return "";
  }
  void SetUpTarget() { fs::create_directories(folder_ / "to"); }

  const Scratch folder_;
  const fs::path run_ = folder_ / "results" / "runs" / "20260101-t";
  const Store store_{folder_ / "results" / "store"};
};

TEST_F(Bundles, ComeBackAsTheyWere) {
  const BundleSummary written = write_bundle(run_, folder_ / "a.tar.zst", &store_, "pesuite");
  EXPECT_EQ(written.files, 5u);
  EXPECT_EQ(written.digest, sha256_file(folder_ / "a.tar.zst"));
  const BundleSummary again = write_bundle(run_, folder_ / "b.tar.zst", &store_, "pesuite");
  EXPECT_EQ(again.digest, written.digest) << "the same run gave other bytes";
  const fs::path to = folder_ / "to";
  const BundleSummary read = import_bundle(folder_ / "a.tar.zst", to);
  EXPECT_EQ(read.at, to / "runs" / "20260101-t");
  EXPECT_FALSE(read.was_there);
  EXPECT_EQ(read_file(read.at / "figures" / "a.svg"), std::string(100'000, 'x'));
  EXPECT_FALSE(fs::exists(read.at / ".lock"));
  EXPECT_EQ(read_file(Store(to / "store").checkpoint("ab12ab12ab12ab12")), "weights");
  EXPECT_TRUE(import_bundle(folder_ / "a.tar.zst", to).was_there);
  int left = 0;
  for (const auto& item : fs::directory_iterator(to))
    left += item.path().filename().string().starts_with(".import") ? 1 : 0;
  EXPECT_EQ(left, 0);
}

TEST_F(Bundles, OfADamagedPlanAreNotWritten) {
  write_file_atomic(run_ / plan_file, R"({"cells": [1]})");
  EXPECT_THROW(write_bundle(run_, folder_ / "a.tar.zst", &store_, "pesuite"), Error);
  EXPECT_FALSE(fs::exists(folder_ / "a.tar.zst"));
}

TEST_F(Bundles, OverwriteNothing) {
  write_bundle(run_, folder_ / "a.tar.zst", &store_, "pesuite");
  const fs::path to = folder_ / "to";
  write_file_atomic(to / "runs" / "20260101-t" / "records.jsonl", "mine");
  EXPECT_THROW(import_bundle(folder_ / "a.tar.zst", to), Error);
  EXPECT_EQ(read_file(to / "runs" / "20260101-t" / "records.jsonl"), "mine");
  EXPECT_FALSE(fs::exists(to / "store"));
  ImportOptions options;
  options.name = "other";
  EXPECT_EQ(import_bundle(folder_ / "a.tar.zst", to, options).at, to / "runs" / "other");
  write_file_atomic(Store(to / "store").checkpoint("ab12ab12ab12ab12"), "mine");
  options.name = "third";
  EXPECT_THROW(import_bundle(folder_ / "a.tar.zst", to, options), Error);
  EXPECT_FALSE(fs::exists(to / "runs" / "third"));
}

TEST_F(Bundles, DamagedAnywhereAreRefused) {
  SetUpTarget();
  write_bundle(run_, folder_ / "a.tar.zst", nullptr, "pesuite");
  const std::string good = read_file(folder_ / "a.tar.zst");
  int taken = 0;
  for (std::size_t i = 0; i < good.size(); i += std::max<std::size_t>(1, good.size() / 200)) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    write_file_atomic(folder_ / "bad.tar.zst", bad);
    try {  // what is not read, such as a reserved byte, may differ; what comes out may not
      const BundleSummary b = import_bundle(folder_ / "bad.tar.zst", folder_ / "to");
      EXPECT_EQ(read_file(b.at / "figures" / "a.svg"), std::string(100'000, 'x')) << i;
      EXPECT_EQ(read_file(b.at / "records.jsonl"), "{\"a\": 1}\n") << i;
      fs::remove_all(folder_ / "to");
      SetUpTarget();
      ++taken;
    } catch (const Error&) {
      EXPECT_FALSE(fs::exists(folder_ / "to" / "runs")) << i;
    }
  }
  EXPECT_LE(taken, 4);
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{10}, good.size() / 2, good.size() - 1}) {
    write_file_atomic(folder_ / "cut.tar.zst", good.substr(0, length));
    EXPECT_NE(refused(folder_ / "cut.tar.zst"), "");
  }
  ImportOptions options;
  options.digest = std::string(64, '0');
  EXPECT_THAT(refused(folder_ / "a.tar.zst", options), HasSubstr("its SHA-256 is"));
  options.digest.clear(), options.most_bytes = 1000;
  EXPECT_THAT(refused(folder_ / "a.tar.zst", options), HasSubstr("it holds more than 1000 B"));
}

// bundle.json for files whose content is `content`.
std::string list_of(const std::vector<std::string>& paths, const std::string& content,
                    std::uint64_t bytes, const std::string& name = "t") {
  Json files = Json::array();
  for (const std::string& p : paths)
    files.push_back({{"path", p}, {"bytes", bytes}, {"sha256", sha256(content)}});
  Json j = {{"schema", "pesuite.bundle/1"}, {"name", name}, {"files", files}};
  j["check"] = sha256(canonical(j));
  return j.dump();
}

TEST_F(Bundles, OfHostileNamesAndSizesAreRefused) {
  SetUpTarget();
  const auto packed = [&](const std::string& list, const std::vector<std::string>& paths) {
    const fs::path file = folder_ / "x.tar.zst";
    fs::remove(file);
    ArchiveWriter w(file);
    w.add("bundle.json", list);
    for (const std::string& p : paths) w.add(p, "abc");
    w.finish();
    return file;
  };
  for (const char* path : {"../x", "run/../../x", "/etc/x", "run/./x", "run//x", "run/a\\b"})
    EXPECT_THAT(refused(packed(list_of({path}, "abc", 3), {path})), HasSubstr("leads outside"))
        << path;
  EXPECT_THAT(refused(packed(list_of({"elsewhere/x"}, "abc", 3), {"elsewhere/x"})),
              HasSubstr("leads outside"));
  for (const char* name : {"..", "a/b", "", ".x"})
    EXPECT_THAT(refused(packed(list_of({"run/x"}, "abc", 3, name), {"run/x"})),
                HasSubstr("its name is none"));
  EXPECT_THAT(refused(packed(list_of({}, "abc", 3), {"run/x"})), HasSubstr("not in its list"));
  EXPECT_THAT(refused(packed(list_of({"run/x"}, "abc", 3), {})), HasSubstr("is missing"));
  EXPECT_THAT(refused(packed(list_of({"run/x"}, "abc", 3), {"run/x", "run/x"})),
              HasSubstr("occurs twice"));
  EXPECT_THAT(refused(packed(list_of({"run/x"}, "abc", 4), {"run/x"})), HasSubstr("has 3 bytes"));
  EXPECT_THAT(refused(packed(list_of({"run/x"}, "abd", 3), {"run/x"})),
              HasSubstr("its digest differs"));
  EXPECT_THAT(refused(packed(list_of({"run/x", "run/y"}, "abc", ~std::uint64_t{0} / 2 + 1), {})),
              HasSubstr("it holds more than"));
  EXPECT_THAT(refused(packed("{}", {})), HasSubstr("bundle.json is damaged"));
  EXPECT_THAT(refused(packed(R"({"schema": "pesuite.bundle/1", "check": "x"})", {})),
              HasSubstr("its own digest differs"));
}

#ifdef PESUITE_HAS_LIBARCHIVE
TEST_F(Bundles, WithLinksAndDevicesAreRefused) {
  SetUpTarget();
  const fs::path file = folder_ / "x.tar.zst";
  const auto packed = [&](const std::function<void(archive_entry*)>& make) {
    fs::remove(file);
    archive* a = archive_write_new();
    archive_write_add_filter_zstd(a);
    archive_write_set_format_pax_restricted(a);
    archive_write_open_filename(a, file.c_str());
    const auto add = [&](const std::string& name, const std::string& content,
                         const std::function<void(archive_entry*)>& as) {
      archive_entry* e = archive_entry_new();
      archive_entry_set_pathname(e, name.c_str());
      archive_entry_set_size(e, static_cast<la_int64_t>(content.size()));
      archive_entry_set_filetype(e, AE_IFREG);
      as(e);
      archive_write_header(a, e);
      archive_write_data(a, content.data(), content.size());
      archive_entry_free(e);
    };
    add("bundle.json", list_of({"run/x"}, "", 0), [](archive_entry*) {});
    add("run/x", "", make);
    archive_write_free(a);
    return file;
  };
  const auto link = HasSubstr("is a link or no regular file");
  EXPECT_THAT(refused(packed([](archive_entry* e) {
                archive_entry_set_filetype(e, AE_IFLNK);
                archive_entry_set_symlink(e, "/etc/passwd");
              })),
              link);
  EXPECT_THAT(
      refused(packed([](archive_entry* e) { archive_entry_set_hardlink(e, "/etc/passwd"); })),
      link);
  EXPECT_NE(refused(packed([](archive_entry* e) { archive_entry_set_filetype(e, AE_IFDIR); })), "");
  for (const auto type : {AE_IFIFO, AE_IFCHR})
    EXPECT_THAT(refused(packed([&](archive_entry* e) { archive_entry_set_filetype(e, type); })),
                link);
}
#endif

TEST_F(Bundles, AreNotWrittenOfLinks) {
  fs::create_symlink("/etc/passwd", run_ / "link");
  EXPECT_THROW(write_bundle(run_, folder_ / "a.tar.zst", nullptr, "pesuite"), Error);
  EXPECT_FALSE(fs::exists(folder_ / "a.tar.zst"));
}

}  // namespace
}  // namespace pesuite::testing
