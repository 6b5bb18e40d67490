// Files of tensors: what is not sound is refused, and what is written is read.
#include "model/safetensors.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/failure.h"
#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

std::string file_with(const std::string& header, const std::string& data) {
  const std::uint64_t n = header.size();
  return std::string(reinterpret_cast<const char*>(&n), 8) + header + data;
}

TEST(Safetensors, RefusesWhatIsNotSound) {
  const Scratch scratch;
  const auto reason = [&](const std::string& content) {
    write_file_atomic(scratch / "x", content);
    std::string text = failure([&] { SafetensorsReader r(scratch / "x"); });
    const std::string head = (scratch / "x").string() + " is not a sound safetensors file: ";
    const std::string tail = "; it may be truncated or damaged";
    EXPECT_TRUE(text.starts_with(head) && text.ends_with(tail)) << text;
    return text.size() < head.size() + tail.size()
               ? text
               : text.substr(head.size(), text.size() - head.size() - tail.size());
  };
  const std::string four(16, '\0');
  EXPECT_EQ(reason("abc"), "it is shorter than 8 bytes");
  EXPECT_EQ(reason(std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8)),
            "its header claims 9223372036854775807 bytes of 8");
  EXPECT_EQ(reason(file_with("[1]", "")), "its header is no JSON object");
  EXPECT_TRUE(reason(file_with("{\"a\":", "")).find("parse error") != std::string::npos);
  EXPECT_EQ(reason(file_with(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,20]}})", four)),
            "tensor 'a' has offsets outside the file");
  EXPECT_EQ(reason(file_with(R"({"a":{"dtype":"F32","shape":[5],"data_offsets":[0,16]}})", four)),
            "tensor 'a' has a size that is not its shape's");
  EXPECT_EQ(reason(file_with(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,16]}})", four)),
            "tensor 'a' has a shape that is negative or absurdly large");
  EXPECT_EQ(reason(file_with(R"({"a":{"dtype":5,"shape":[4],"data_offsets":[0,16]}})", four)),
            "tensor 'a': type must be string, but is number");
  EXPECT_EQ(reason(file_with(R"({"a":{"dtype":"F32","shape":[4]}})", four)),
            "tensor 'a': key 'data_offsets' not found");
  EXPECT_EQ(reason(file_with(R"({"__metadata__":{"run":5}})", four)),
            "__metadata__: type must be string, but is number");
  EXPECT_EQ(reason(file_with(R"({"a":{"dtype":"Q4","shape":[16],"data_offsets":[0,16]}})", four)),
            "tensor 'a' has type Q4, which is not known");
  EXPECT_EQ(
      reason(file_with(
          R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},"b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
          four)),
      "tensors 'a' and 'b' overlap");
  EXPECT_EQ(
      reason(file_with(
          R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})",
          four)),
      "the name 'a' twice");
}

// Of the types that published checkpoints have; whole numbers are there, and no weights.
TEST(Safetensors, ReadsHalvesAndRefusesWholeNumbers) {
  const Scratch scratch;
  const auto bytes = [](std::initializer_list<std::uint16_t> words) {
    std::string out;
    for (const std::uint16_t w : words)
      out += std::string{static_cast<char>(w & 255), static_cast<char>(w >> 8)};
    return out;
  };
  // 1, -2, the largest, the smallest, the smallest normal, inf, -0, 1/3
  const std::string halves =
      bytes({0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400, 0x7c00, 0x8000, 0x3555});
  write_file_atomic(scratch / "x",
                    file_with(R"({"h":{"dtype":"F16","shape":[8],"data_offsets":[0,16]},)"
                              R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]},)"
                              R"("i":{"dtype":"I16","shape":[1],"data_offsets":[22,24]}})",
                              halves + bytes({0x3f80, 0xc049, 0x7f80}) + bytes({7})));
  const SafetensorsReader r(scratch / "x");
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(r.read("h", {8}), (std::vector<double>{1, -2, 65504, std::ldexp(1.0, -24),
                                                   std::ldexp(1.0, -14), inf, 0, 1365.0 / 4096}));
  EXPECT_EQ(r.read("b", {3}), (std::vector<double>{1, -3.140625, inf}));
  std::vector<float> some(2);
  r.read(r.tensors().at("h"), 1, some);
  EXPECT_EQ(some, (std::vector<float>{-2, 65504}));
  EXPECT_NE(failure([&] { r.read("i", {1}); }).find("has type I16; F64, F32, F16 and BF16"),
            std::string::npos);
}

TEST(Safetensors, RoundTripsAndChecksShapes) {
  const Scratch scratch;
  const std::vector<double> values = {1.5, -2.25, 1e-30, 3};
  write_safetensors(scratch / "x", {{"a", {2, 2}}, {"b", {}}}, {{"key", "text"}}, false,
                    [&](std::size_t i) { return i == 0 ? values : std::vector<double>{7}; });
  const SafetensorsReader r(scratch / "x");
  EXPECT_EQ(r.read("a", {2, 2})[1], -2.25);
  EXPECT_EQ(r.read("b", {})[0], 7);
  EXPECT_EQ(r.metadata().at("key"), "text");
  EXPECT_TRUE(failure([&] { r.read("a", {4}); }).ends_with("tensor 'a' is [2, 2], wanted [4]"));
  EXPECT_TRUE(failure([&] { r.read("c", {4}); }).ends_with("holds no tensor 'c'"));
}

TEST(Safetensors, ChecksumsFindEveryFlippedBit) {
  const Scratch scratch;
  const fs::path file = scratch / "x";
  const std::vector<std::size_t> sizes = {3, 0, 2};
  write_safetensors(file, {{"a", {3}}, {"empty", {0}}, {"b", {2}}}, {{"key", "text"}}, false,
                    [&](std::size_t i) { return std::vector<double>(sizes[i], 1.5); });
  EXPECT_TRUE(is_sound_safetensors(file));
  const std::string whole = read_file(file);
  for (std::size_t i = 8; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    write_file_atomic(file, damaged);
    // Where their name is hit, no checksums are left to tell: who wants them asks for them.
    EXPECT_TRUE(!is_sound_safetensors(file) || !SafetensorsReader(file).has_checksums()) << i;
  }
}

}  // namespace
}  // namespace pesuite::testing
