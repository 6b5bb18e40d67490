// Published checkpoints on the reference backend against plain loops in double.
#include "hf/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/file.h"
#include "encoding/swap.h"
#include "model/cache.h"
#include "tests/model/published_forward.h"
#include "tests/scratch.h"
#include "tests/support.h"

namespace pesuite::testing {
namespace {

const Catalog& catalog() {
  static const Catalog all = open_catalog({PESUITE_TEST_PLUGINS});
  return all;
}

// Whether weights are multiplied by what is no power of two, and so rounded once more.
bool rounds(const fs::path& folder, bool matrices) {
  const hf::Published p = hf::read_config(folder);
  return std::any_of(p.times.begin(), p.times.end(), [&](const auto& factor) {
    int exponent = 0;
    return std::abs(std::frexp(factor.second, &exponent)) != 0.5 &&
           !(matrices && factor.first.ends_with("norm"));
  });
}

// The largest difference of a logit, relative to the largest logit.
double apart(const fs::path& folder, const std::vector<std::int32_t>& tokens) {
  hf::Checkpoint c(catalog(), folder, open_backend("reference", {.threads = 1}),
                   static_cast<int>(tokens.size()));
  std::vector<double> found;
  Inspection look;
  look.logits = [&](const std::vector<double>& all) { found = all; };
  c.score(tokens, look);
  const Rows wanted = PublishedForward(folder).logits(tokens);
  double difference = 0, largest = 0;
  std::size_t i = 0;
  for (std::size_t t = 0; t < wanted.size(); ++t)
    for (const double x : wanted[t]) {
      if (i == found.size()) break;  // an inspection sees the first rows
      largest = std::max(largest, std::abs(x));
      difference = std::max(difference, std::abs(x - found[i++]));
    }
  EXPECT_GE(i, std::min<std::size_t>(wanted.size(), Inspection::logit_rows) * wanted[0].size());
  return difference / largest;
}

TEST(Published, ReferenceIsPlainLoopsInDouble) {
  int compared = 0;
  for (const auto& item : fs::directory_iterator(fs::path(PESUITE_TEST_DIR) / "checkpoints")) {
    if (!fs::exists(item.path() / "expected.json")) continue;
    const Json runs = Json::parse(read_file(item.path() / "expected.json")).at("runs");
    for (const Json& run : runs)
      for (const Json& ids : run.at("input_ids")) {
        EXPECT_LE(apart(item.path(), ids.get<std::vector<std::int32_t>>()),
                  rounds(item.path(), false) ? 1e-6 : 1e-10)
            << item.path().filename() << ", " << ids.size() << " tokens";
        ++compared;
      }
  }
  EXPECT_GE(compared, 80);
}

// A model's encoding gives what it shares to the one that takes its place.
TEST(Published, SwappedEncodingsKeepWhatTheWeightsWereTrainedWith) {
  constexpr const char* own_text[][3] = {
      {"yarn(factor=4)", "rope(base=1000000)", "yarn(base=1000000, factor=4)"},
      {"yarn(base=500, factor=4)", "rope(base=9, features=8)",
       "yarn(base=500, factor=4, features=8)"},
      {"abf", "rope(base=9, features=8)", "abf(features=8)"},  // its default base is its own
      {"yarn(factor=8)", "yarn(base=5, factor=4, original=16)",
       "yarn(base=5, factor=8, original=16)"},
      {"ntk(factor=8)", "yarn(base=5, factor=4, original=16)", "ntk(base=5, factor=8)"},
      {"rope", "abf(base=9)", "rope(base=9)"},
      {"yarn(factor=4)", "ntk(base=7, dynamic=true, original=16)", "yarn(base=7, factor=4)"},
      {"rope", "rope(base=10000, layout=half)", "rope"},
      {"alibi", "rope(base=9)", "alibi"},
      {"rope + alibi", "rope(base=9)", "rope(base=9) + alibi"},
      {"rerope", "layers[rope(base=9), none]", "layers[rerope(base=9), none]"},
      {"layers[rerope]", "layers[rope(base=9), none]", "layers[rerope(base=9)]"},
      {"none", "layers[rope(base=9), none]", "none"},
      {"yarn", "rope -> rope(base=9) @ 50%", "yarn(base=9)"},
      {"yarn", "layers[rope, rope(base=9)]", "layers[yarn, yarn(base=9)]"},
      {"alibi", "layers[rope, rope(base=9)]", "alibi"},
      {"rope => yarn", "rope(base=9)", "rope => yarn"}};
  for (const auto& [text, own, wanted] : own_text)
    EXPECT_EQ(swapped_in(catalog(), text, own), wanted) << text << " for " << own;
  constexpr const char* of_windows[][3] = {
      {"yarn(factor=4)", "rope(base=9)",
       "layers[rope(base=9), rope(base=9), yarn(base=9, factor=4)]"},
      {"yarn(factor=4)", "layers[rope, rope, rope(base=9)]",
       "layers[rope, rope, yarn(base=9, factor=4)]"},
      {"yarn(factor=4)", "layers[rope, rope, none]", "layers[rope, rope, none]"},
      {"layers[alibi]", "rope", "layers[alibi]"},
      {"none", "rope", "none"}};
  for (const auto& [text, own, wanted] : of_windows)
    EXPECT_EQ(swapped_in(catalog(), text, own, 3), wanted) << text << " for " << own;
  constexpr const char* nowhere[][3] = {{"yarn", "layers[rope, rope, none]", "no"},
                                        {"yarn", "layers[rope, rope, rope]", "yes"},
                                        {"yarn", "rope", "yes"},
                                        {"yarn", "none", "yes"},
                                        {"none", "layers[rope, rope, none]", "yes"},
                                        {"layers[yarn]", "layers[rope, rope, none]", "yes"},
                                        {"yarn", "rope -> layers[rope, none, none] @ 50%", "no"}};
  for (const auto& [text, own, taken] : nowhere)
    EXPECT_EQ(no_layer_takes(text, own, 3), taken == std::string("no")) << text << " for " << own;
  EXPECT_THROW(swapped_in(catalog(), "no_such", "rope"), Error);
  EXPECT_EQ(swapped_in(catalog(), "yarn", "of_a_library_that_is_not_here"), "yarn");
}

// Of a folder in fp32: it with each number cut to the bits of a bf16, as such or as a float.
bool rewrite(const fs::path& from, const fs::path& to, bool halves) {
  const std::string file = read_file(from / "model.safetensors");
  std::uint64_t size = 0;
  std::memcpy(&size, file.data(), sizeof size);
  Json header = Json::parse(file.substr(8, size));
  header["__metadata__"] = {{"format", "pt"}};
  std::string data;
  for (auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    const std::size_t begin = tensor["data_offsets"][0], end = tensor["data_offsets"][1],
                      start = data.size();
    if (tensor["dtype"] == "F16" || tensor["dtype"] == "BF16") return false;
    std::string bytes = file.substr(8 + size + begin, end - begin);
    if (tensor["dtype"] == "F32") {
      std::string upper;
      for (std::size_t i = 0; i < bytes.size(); i += 4) {
        bytes[i] = bytes[i + 1] = 0;
        upper.append(bytes, i + 2, 2);
      }
      if (halves) bytes = upper, tensor["dtype"] = "BF16";
    }
    data += bytes;
    tensor["data_offsets"] = {start, data.size()};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  size = text.size();
  fs::create_directories(to);
  fs::copy_file(from / "config.json", to / "config.json");
  write_file_atomic(to / "model.safetensors",
                    std::string(reinterpret_cast<const char*>(&size), 8) + text + data);
  return true;
}

struct Found {
  std::size_t bytes = 0;  // of matrices
  std::vector<double> nats, logits;
};
Found found(const fs::path& folder, const std::vector<std::int32_t>& tokens) {
  hf::Checkpoint c(catalog(), folder, open_backend("cpu", {.threads = 2}),
                   static_cast<int>(tokens.size()));
  Found f;
  for (const Parameter& p : c.model().parameters())
    if (p.shape.rank() == 2 && !p.name.starts_with("encoding."))
      f.bytes += static_cast<std::size_t>(p.shape.count()) * (p.storage == Storage::bf16 ? 2 : 4);
  f.nats = c.score(tokens).nats;
  Cache cache(c.model(), 1, static_cast<int>(tokens.size()));
  f.logits = c.model().read(cache, std::span(tokens).first(tokens.size() - 1));
  const std::vector<double> last = c.model().read(cache, std::span(tokens).last(1));
  f.logits.insert(f.logits.end(), last.begin(), last.end());
  return f;
}

// Weights that are in bf16 stay in it, which halves their memory and changes no number: with few
// rows and with many.
TEST(Published, WeightsInBf16StayWhatTheyAre) {
  const Scratch scratch;
  int folders = 0;
  for (const auto& item : fs::directory_iterator(fs::path(PESUITE_TEST_DIR) / "checkpoints")) {
    if (!fs::exists(item.path() / "model.safetensors")) continue;
    const fs::path whole = scratch / "whole" / item.path().filename(),
                   half = scratch / "half" / item.path().filename();
    if (!rewrite(item.path(), whole, false) || !rewrite(item.path(), half, true)) continue;
    const ModelConfig m = hf::read_config(half).model;
    for (const std::size_t length : {9, 40}) {
      std::vector<std::int32_t> tokens(length);
      for (std::size_t i = 0; i < length; ++i)
        tokens[i] =
            static_cast<std::int32_t>((i * i * 7 + 3) % static_cast<std::size_t>(m.vocabulary));
      const Found a = found(whole, tokens), b = found(half, tokens);
      EXPECT_EQ(b.bytes * (rounds(half, true) ? 1 : 2), a.bytes) << half;
      ASSERT_EQ(a.nats.size(), b.nats.size());
      for (std::size_t i = 0; i < a.nats.size(); ++i)
        ASSERT_NEAR(a.nats[i], b.nats[i], 1e-5) << half << ", " << length << " tokens, place " << i;
      ASSERT_EQ(a.logits.size(), b.logits.size());
      for (std::size_t i = 0; i < a.logits.size(); ++i)
        ASSERT_NEAR(a.logits[i], b.logits[i], 1e-5) << half << ", " << length << " tokens";
    }
    ++folders;
  }
  EXPECT_GT(folders, 10);
}

}  // namespace
}  // namespace pesuite::testing
