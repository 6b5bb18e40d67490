// Published checkpoints that were damaged or made to harm: a sentence each, and never more.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "base/file.h"
#include "hf/checkpoint.h"
#include "pesuite/random.hpp"
#include "tests/catalog.h"
#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

const fs::path sound = fs::path(PESUITE_TEST_DIR) / "checkpoints";

void put(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t number) : random_(number, pes::purpose("mutate"), 0) {}
  std::size_t below(std::size_t n) {
    return n == 0 ? 0 : random_.below(static_cast<std::uint32_t>(n));
  }
  // One to four changes to the first `reach` bytes.
  std::string operator()(std::string text, std::size_t reach) {
    for (std::size_t n = 1 + below(4); n > 0 && !text.empty(); --n)
      change(text, std::min(reach, text.size()));
    return text;
  }

 private:
  void change(std::string& text, std::size_t reach) {
    const std::size_t at = below(reach);
    switch (below(8)) {
      case 0: text[at] = static_cast<char>(below(256)); return;
      case 1: text[at] = static_cast<char>(text[at] ^ 1 << below(8)); return;
      case 2: text.resize(at); return;
      case 3: text.erase(at, 1 + below(40)); return;
      case 4: text.insert(at, text.substr(below(reach), below(80))); return;
      default: return replace_word(text, at);
    }
  }
  // A number, or what stands between quotes, by what nobody expects there.
  void replace_word(std::string& text, std::size_t from) {
    static const char* const words[] = {
        "0",     "-1",     "1",    "2147483647", "2147483648", "18446744073709551615",
        "1e308", "-0.0",   "null", "true",       "[]",         "{}",
        "\"\"",  "1e-320", "3",    "64",         "0.5",        "\"linear\""};
    const std::size_t at = text.find_first_of("0123456789", from);
    if (at == std::string::npos) return;
    const std::size_t end = text.find_first_not_of("0123456789.eE+-", at);
    text.replace(at, end == std::string::npos ? end : end - at, words[below(std::size(words))]);
  }

  pes::Random random_;
};

// In two files, with an index.
void part(const fs::path& folder) {
  const SafetensorsReader all(folder / "model.safetensors");
  Json map;
  std::vector<TensorToWrite> tensors[2];
  for (const auto& [name, entry] : all.tensors()) {
    const std::size_t half = map.size() % 2;
    map[name] = fmt::format("part{}.safetensors", half);
    tensors[half].push_back(
        {name, Shape::of(static_cast<int>(entry.shape.size()), entry.shape.data())});
  }
  for (std::size_t half = 0; half < 2; ++half)
    write_safetensors(
        folder / fmt::format("part{}.safetensors", half), tensors[half], {{"format", "pt"}}, false,
        [&](std::size_t i) { return all.read(tensors[half][i].name, tensors[half][i].shape); });
  put(folder / "model.safetensors.index.json",
      Json{{"metadata", {{"total_size", 1}}}, {"weight_map", map}}.dump());
  fs::remove(folder / "model.safetensors");
}

// Loads it and reads a few tokens; the sentence, or "" where it went well.
std::string tried(const fs::path& folder) {
  try {
    hf::Checkpoint c(built_catalog(), folder, open_backend("cpu", {.threads = 1}), 8);
    c.score(std::vector<std::int32_t>{1, 2, 3, 0});
    return "";
  } catch (const Error& e) {
    EXPECT_STRNE(e.what(), "");
    return e.what();
  }
}

TEST(HostileCheckpoints, GetASentence) {
  constexpr int mutations = 10'000;
  const char* const names[] = {"llama_yarn", "gpt2", "gpt_neox", "mpt", "llama_longrope"};
  const Scratch scratch;
  std::vector<fs::path> folders;
  for (const char* name : names) {
    folders.push_back(scratch / name);
    fs::copy(sound / name, folders.back());
  }
  part(folders[0]);
  for (const fs::path& f : folders) ASSERT_EQ(tried(f), "");
  int refused = 0;
  for (int n = 0; n < mutations; ++n) {
    Mutator mutate(static_cast<std::uint64_t>(n));
    const fs::path& folder = folders[mutate.below(folders.size())];
    std::vector<fs::path> files;
    for (const auto& item : fs::directory_iterator(folder))
      if (item.path().filename() != "expected.json") files.push_back(item.path());
    std::sort(files.begin(), files.end());
    const fs::path& file = files[mutate.below(files.size())];
    const std::string before = read_file(file);
    // of weights the header, and what it says of itself
    const bool weights = file.extension() == ".safetensors";
    put(file, mutate(before, weights ? 4000 : before.size()));
    refused += tried(folder).empty() ? 0 : 1;
    put(file, before);
    if (::testing::Test::HasFailure()) FAIL() << "mutation " << n << " of " << file;
  }
  EXPECT_GT(refused, mutations / 2);
  for (const fs::path& f : folders) EXPECT_EQ(tried(f), "");
}

TEST(HostileCheckpoints, OfSeveralFiles) {
  const Scratch scratch;
  const fs::path folder = scratch / "parts", index = folder / "model.safetensors.index.json";
  fs::copy(sound / "gpt2", folder);
  part(folder);
  ASSERT_EQ(tried(folder), "");
  const Json sound_index = Json::parse(read_file(index));
  const std::string first = sound_index["weight_map"].begin().key();
  const auto with = [&](const std::function<void(Json&)>& change) {
    Json j = sound_index;
    change(j);
    put(index, j.dump());
    return tried(folder);
  };
  const std::pair<std::function<void(Json&)>, const char*> wanted[] = {
      {[&](Json& j) { j["weight_map"][first] = "model.safetensors.index.json"; }, "safetensors"},
      {[&](Json& j) { j["weight_map"][first] = "../parts/part0.safetensors"; },
       "no name of a file"},
      {[&](Json& j) { j["weight_map"][first] = "nowhere.safetensors"; }, "nowhere.safetensors"},
      {[&](Json& j) { j["weight_map"][first] = 7; }, "no name of a file"},
      {[&](Json& j) { j["weight_map"]["more"] = "part0.safetensors"; }, "does not"},
      {[&](Json& j) { j["weight_map"].erase(first); }, "the index does not say so"},
      {[&](Json& j) { j["weight_map"] = Json::object(); }, "holds no 'weight_map'"},
      {[&](Json& j) { j = Json::array(); }, "holds no 'weight_map'"}};
  for (const auto& [change, words] : wanted) {
    const std::string said = with(change);
    EXPECT_NE(said.find(words), std::string::npos) << "'" << words << "' in '" << said << "'";
  }
}

}  // namespace
}  // namespace pesuite::testing
