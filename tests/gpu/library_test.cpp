// The library as the program meets it: opened by its path, on a machine without a device.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "backend/cuda/entry.h"

namespace pesuite::testing {
namespace {

const pesuite_cuda* open() {
  void* const library = dlopen(PESUITE_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  if (library == nullptr) return nullptr;
  return static_cast<const pesuite_cuda*>(dlsym(library, PESUITE_CUDA_SYMBOL));
}

TEST(Library, OffersItsEntryAndNothingElse) {
  const pesuite_cuda* const entry = open();
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->abi, static_cast<std::uint32_t>(PESUITE_CUDA_ABI));
  EXPECT_EQ(entry->size, sizeof(pesuite_cuda));
  void* const library = dlopen(PESUITE_CUDA_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
  EXPECT_EQ(dlsym(library, "_ZN7pesuite4cuda12find_devicesEv"), nullptr);
}

TEST(Library, SaysWhichDevicesThereAreOrWhyThereIsNone) {
  const pesuite_cuda* const entry = open();
  ASSERT_NE(entry, nullptr);
  char sentence[512] = {};
  const int count = entry->devices(sentence, sizeof sentence);
  EXPECT_THAT(sentence, ::testing::HasSubstr("cuDNN 9."));
  if (count == 0) {
    EXPECT_THAT(sentence, ::testing::StartsWith("no CUDA device"));
  } else {
    EXPECT_THAT(sentence, ::testing::HasSubstr("(sm_"));
  }
  char first[8] = "xxxxxxx";
  EXPECT_EQ(entry->devices(first, sizeof first), count);
  EXPECT_EQ(std::string(first), std::string(sentence).substr(0, 7)) << "cut, and ended";
}

TEST(Library, RefusesDevicesThatAreNotThere) {
  const pesuite_cuda* const entry = open();
  ASSERT_NE(entry, nullptr);
  char sentence[512] = {};
  const char id[128] = {};
  EXPECT_EQ(entry->join(id, 0, 2, 1000, sentence, sizeof sentence), nullptr);
  EXPECT_THAT(sentence, ::testing::ContainsRegex("no CUDA device"));
  EXPECT_EQ(entry->open(1000, 0, sentence, sizeof sentence), nullptr);
  EXPECT_THAT(sentence, ::testing::ContainsRegex("no CUDA device"));
}

}  // namespace
}  // namespace pesuite::testing
