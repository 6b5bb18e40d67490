// Manifests: what is written can be read, what is cut, edited or of another build is not taken for
// what it was.
#include "plugin/manifest.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "base/elf.h"
#include "base/error.h"
#include "base/file.h"
#include "pesuite/random.hpp"
#include "plugin/library.h"
#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

const fs::path built = PESUITE_TEST_PLUGINS;

std::vector<fs::path> libraries() {
  std::vector<fs::path> out;
  for (const auto& item : fs::directory_iterator(built))
    if (item.path().string().ends_with(".plugin.so")) out.push_back(item.path());
  EXPECT_FALSE(out.empty());
  return out;
}

// The sentence of the error that `body` throws, "" when it throws none.
template <class F>
std::string failure(const F& body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Exit::plugin) << e.what();
    return e.what();
  }
  return "";
}
std::string failure_of(const std::string& text) {
  return failure([&] { parse_manifest(text, "x.plugin.toml"); });
}

class Folder : public ::testing::Test {
 protected:
  // A built library with its manifest.
  fs::path bring(const std::string& name) {
    for (const char* end : {".plugin.so", ".plugin.toml"})
      fs::copy_file(built / (name + end), folder_ / (name + end));
    return folder_ / (name + ".plugin.so");
  }
  static void write(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }
  static void run(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0); }

  const Scratch folder_;
};
using BuildId = Folder;
using Catalogs = Folder;

// A copy of a library, as beside a long run, in one sentence and not in one for each encoding.
TEST_F(Catalogs, OfTwoCopiesOneIsUsed) {
  const fs::path copy = bring("bias"), other = bring("polar");
  const Catalog both = open_catalog({folder_, built});
  EXPECT_THAT(
      both.problems,
      ElementsAre(MatchesRegex(fmt::format("encoding 'alibi' and 1[0-9] others of {} are not "
                                           "used: {} comes first on the search path",
                                           (built / "bias.plugin.so").string(), copy.string())),
                  fmt::format("encoding 'pope' of {} is not used: {} comes first on the "
                              "search path",
                              (built / "polar.plugin.so").string(), other.string())));
}

// As where the program alone was copied to another machine.
TEST(NoCatalog, WithoutLibrariesSaysHowToNameThem) {
  const Catalog none = open_catalog({});
  EXPECT_EQ(failure([&] { none.encoding("rope"); }),
            "there is no encoding 'rope', nor any other: no library with encodings was found; name "
            "a folder of libraries by --plugin-path or PESUITE_PLUGIN_PATH");
  EXPECT_THAT(failure([&] { none.task_card("copy"); }), HasSubstr("no library with tasks"));
  EXPECT_THAT(failure([&] { open_catalog({built}).encoding("nowhere"); }),
              StartsWith("there is no encoding 'nowhere'; 'pesuite list encoding' shows all"));
}

TEST(Manifest, OfEachBuiltLibraryIsWhatItSays) {
  for (const fs::path& file : libraries()) {
    const Manifest own = make_manifest(Library::open(file));
    const std::string text = read_file(manifest_path(file));
    EXPECT_EQ(text, to_toml(own, file)) << file;
    const Manifest read = parse_manifest(text, file.string());
    EXPECT_EQ(difference(read, own), "");
    EXPECT_EQ(read.encodings, own.encodings);  // the order of keys, too
    EXPECT_EQ(read.tasks, own.tasks);
    EXPECT_EQ(read.build, build_of(file));
  }
}

TEST(Manifest, BringsAnyTextBack) {
  const std::string hostile =
      "\"quoted\" 'too' \\ # = [[encoding]]\na = 1\r\n\t\x01\x7f \xc3\xa9 \xf0\x9f\x98\x80";
  const Json option = {
      {"name", "o"},    {"type", "number"}, {"default", hostile},      {"help", hostile},
      {"low", -1e-300}, {"high", "inf"},    {"choices", {hostile, ""}}};
  const Json card = {{"name", "n"},
                     {"summary", hostile},
                     {"version", hostile},
                     {"taxonomy", ""},
                     {"claims", Json::array()},
                     {"acts_on", {hostile}},
                     {"options", {option, option}}};
  const Json plain = {{"name", "m"},
                      {"summary", ""},
                      {"version", ""},
                      {"taxonomy", ""},
                      {"options", Json::array()}};
  const Manifest m{hostile, "", hostile, 1, 0, 0, "gnu:00", {card, plain}, {plain}};
  const Manifest back = parse_manifest(to_toml(m, "x.plugin.so"), "x.plugin.toml");
  EXPECT_EQ(back.name, hostile);
  EXPECT_EQ(back.licence, hostile);
  EXPECT_EQ(back.encodings, m.encodings);
  EXPECT_EQ(back.tasks, m.tasks);
  EXPECT_EQ(difference(back, m), "");
}

// Cut anywhere, a manifest is refused in a sentence, also where what is left is good TOML.
TEST(Manifest, CutIsRefused) {
  for (const auto& [name, step] : {std::pair{"none", 1}, std::pair{"rotary", 211}}) {
    const fs::path file = built / fmt::format("{}.plugin.toml", name);
    const std::string text = read_file(file);
    for (std::size_t n = 0; n < text.size(); n += static_cast<std::size_t>(step))
      ASSERT_THAT(failure_of(text.substr(0, n)), StartsWith("x.plugin.toml:")) << n;
    EXPECT_EQ(failure_of(text), "");
  }
}

// Bytes changed, dropped, doubled: refused, or nothing that it says has changed (a comment, a
// space).
TEST(Manifest, DamageIsRefused) {
  const std::string text = read_file(built / "none.plugin.toml");
  const Manifest whole = parse_manifest(text, "x.plugin.toml");
  int refused = 0;
  for (std::uint64_t round = 0; round < 3000; ++round) {
    pes::Random r(1, pes::purpose("damage"), round);
    std::string damaged = text;
    const std::size_t at = r.below(static_cast<std::uint32_t>(text.size()));
    const auto byte = static_cast<char>(r.below(256));
    switch (r.below(3)) {
      case 0: damaged[at] = byte; break;
      case 1: damaged.erase(at, 1 + r.below(40)); break;
      default:
        damaged.insert(
            at, text.substr(r.below(static_cast<std::uint32_t>(text.size())), 1 + r.below(40)));
    }
    try {
      const Manifest m = parse_manifest(damaged, "x.plugin.toml");
      ASSERT_EQ(difference(m, whole), "") << damaged;
    } catch (const Error& e) {
      ASSERT_THAT(e.what(), StartsWith("x.plugin.toml:"));
      ++refused;
    }
  }
  EXPECT_GT(refused, 2500);
}

TEST(Manifest, RefusalsHaveTheirPlace) {
  EXPECT_THAT(failure_of("schema = \"pesuite.manifest/1\"\nbuild = \n"),
              StartsWith("x.plugin.toml:2:"));
  EXPECT_THAT(failure_of("a = 1\na = 2\n"), StartsWith("x.plugin.toml:2:"));
  EXPECT_EQ(failure_of(""), "x.plugin.toml: names no schema, so it is no manifest");
  EXPECT_EQ(failure_of("schema = \"pesuite.manifest/2\"\n"),
            "x.plugin.toml: has the schema \"pesuite.manifest/2\", this pesuite reads "
            "\"pesuite.manifest/1\"");
  std::string text = read_file(built / "polar.plugin.toml");
  const std::size_t at = text.find("default = ");
  ASSERT_NE(at, std::string::npos);
  text.insert(text.find('"', at) + 1, "7");
  EXPECT_EQ(failure_of(text),
            "x.plugin.toml: is cut or was edited: its digest is of something else");
}

TEST(Manifest, DifferencesHaveTheirPlace) {
  const Manifest own = make_manifest(Library::open(built / "rotary.plugin.so"));
  Manifest other = own;
  for (Json& card : other.encodings)
    if (card["name"] == "rope") card["options"][0]["default"] = "7";
  const std::string option = own.encodings[0]["options"][0]["name"];
  EXPECT_THAT(
      difference(other, own),
      MatchesRegex(fmt::format("encoding/rope/options/{}/default: it says \"7\", the library "
                               "\".*\"",
                               option)));
  other = own;
  other.encodings.pop_back();
  EXPECT_THAT(difference(other, own), HasSubstr(": it says nothing, the library {"));
  other = own;
  other.version = "0";
  EXPECT_THAT(difference(other, own), StartsWith("library/version: it says \"0\", the library "));
}

TEST_F(BuildId, OutlivesStripping) {
  const fs::path library = bring("polar"), stripped = folder_ / "stripped.plugin.so";
  const std::string id = build_of(library);
  EXPECT_THAT(id, MatchesRegex("gnu:[0-9a-f]{40}"));
  run(fmt::format("strip -o {} {}", stripped.string(), library.string()));
  EXPECT_NE(sha256_file(stripped), sha256_file(library));
  EXPECT_EQ(build_of(stripped), id);
  EXPECT_NE(build_of(built / "none.plugin.so"), id);
}

TEST_F(BuildId, IsTheDigestWhereThereIsNone) {
  const fs::path library = bring("polar"), bare = folder_ / "bare.plugin.so";
  run(fmt::format("objcopy --remove-section .note.gnu.build-id {} {}", library.string(),
                  bare.string()));
  EXPECT_EQ(build_id(bare), "");
  EXPECT_EQ(build_of(bare), "sha256:" + sha256_file(bare));
}

TEST_F(BuildId, OfACutOrDamagedFileIsASentence) {
  const std::string whole = read_file(built / "none.plugin.so");
  const fs::path file = folder_ / "cut.plugin.so";
  for (std::size_t n = 0; n < whole.size(); n += n < 1024 ? 1 : 997) {
    write(file, whole.substr(0, n));
    const std::string reason = failure([&] { build_id(file); });
    ASSERT_THAT(reason, AnyOf("", StartsWith(file.string() + ": "))) << n;
  }
  for (std::size_t n = 0; n < 1024; ++n) {
    std::string damaged = whole;
    damaged[n] = static_cast<char>(~damaged[n]);
    write(file, damaged);
    const std::string reason = failure([&] { build_id(file); });
    ASSERT_THAT(reason, AnyOf("", StartsWith(file.string() + ": "))) << n;
  }
}

TEST_F(Catalogs, OfWholeManifestsHaveNothingToNote) {
  for (const Catalog& c : {list_catalog({built}), open_catalog({built})}) {
    EXPECT_THAT(c.notes, IsEmpty());
    EXPECT_THAT(c.problems, IsEmpty());
    EXPECT_EQ(c.offers.size(), libraries().size());
  }
}

TEST_F(Catalogs, AskWhatHasNoManifestAndListItNot) {
  const fs::path library = bring("polar");
  fs::remove(manifest_path(library));
  const auto sentence = [&](const char* what) {
    return fmt::format(
        "{0}: has no manifest polar.plugin.toml; {1}; 'pesuite plugin manifest {0}' "
        "writes it",
        library.string(), what);
  };
  const Catalog listed = list_catalog({folder_}), opened = open_catalog({folder_});
  EXPECT_THAT(listed.notes, ElementsAre(sentence("what the library offers is not listed")));
  EXPECT_THAT(listed.encoding_names(), IsEmpty());
  EXPECT_THAT(opened.notes, ElementsAre(sentence("the library was asked itself")));
  EXPECT_THAT(opened.encoding_names(), ElementsAre("pope"));
  EXPECT_STREQ(opened.encoding("pope").descriptor->card->name, "pope");
}

TEST_F(Catalogs, AskWhatHasAManifestOfAnotherBuild) {
  const fs::path library = bring("polar");
  fs::copy_file(built / "none.plugin.so", library, fs::copy_options::overwrite_existing);
  const std::string beside = manifest_path(library).string();
  const Catalog listed = list_catalog({folder_}), opened = open_catalog({folder_});
  EXPECT_THAT(listed.notes, ElementsAre(fmt::format(
                                "{}: is of another build of polar.plugin.so; what is listed is "
                                "what that build offers; 'pesuite plugin manifest {}' writes it",
                                beside, library.string())));
  EXPECT_THAT(listed.encoding_names(), ElementsAre("pope"));
  EXPECT_THAT(opened.notes.at(0), HasSubstr("; the library was asked itself;"));
  EXPECT_THAT(opened.encoding_names(), ElementsAre("none", "ssmax"));
  write_manifest(library);
  EXPECT_THAT(list_catalog({folder_}).notes, IsEmpty());
  EXPECT_THAT(list_catalog({folder_}).encoding_names(), ElementsAre("none", "ssmax"));
}

TEST_F(Catalogs, SayWhereAManifestIsBroken) {
  const fs::path library = bring("polar");
  write(manifest_path(library), "schema = \"pesuite.manifest/1\"\nbuild = {\n");
  const Catalog listed = list_catalog({folder_}), opened = open_catalog({folder_});
  const std::string place = manifest_path(library).string() + ":";
  EXPECT_THAT(listed.notes.at(0), StartsWith(place));
  EXPECT_THAT(listed.notes.at(0), MatchesRegex(".*plugin.toml:[23]:[0-9]+: .*"));
  EXPECT_THAT(listed.encoding_names(), IsEmpty());
  EXPECT_THAT(opened.notes.at(0), StartsWith(place));
  EXPECT_THAT(opened.encoding_names(), ElementsAre("pope"));
}

TEST_F(Catalogs, RefuseALibraryThatIsNone) {
  const fs::path library = bring("polar");
  write(library, "not a library");
  const Catalog listed = list_catalog({folder_});
  EXPECT_THAT(listed.encoding_names(), IsEmpty());
  EXPECT_THAT(listed.problems.at(0), HasSubstr("is no ELF file"));
}

TEST_F(Catalogs, RefuseAManifestOfAnotherAbi) {
  const fs::path library = bring("polar");
  Manifest m = make_manifest(Library::open(library));
  m.abi_major = PES_ABI_MAJOR + 1;
  write(manifest_path(library), to_toml(m, library));
  const Catalog listed = list_catalog({folder_});
  EXPECT_THAT(listed.encoding_names(), IsEmpty());
  EXPECT_THAT(listed.problems.at(0), HasSubstr("; use a newer pesuite, or rebuild the plugin"));
}

// A scan of all plugins takes less than 100 ms.
TEST(Scan, OfTheBuildsFolderIsQuick) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a time means nothing under sanitizers";
#endif
  double best = 1e9;
  for (int i = 0; i < 7; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const Catalog c = list_catalog({built});
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    EXPECT_GT(c.offers.size(), 10u);
  }
  RecordProperty("milliseconds", fmt::format("{:.2f}", 1e3 * best));
  std::printf("%.2f ms\n", 1e3 * best);
  EXPECT_LT(best, 0.1);
}

}  // namespace
}  // namespace pesuite::testing
