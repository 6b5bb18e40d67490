// Every built plugin as the loader meets it: one exported symbol, and nothing left to resolve.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pesuite/pesuite.h>

#include <cstdio>
#include <filesystem>

namespace pesuite::testing {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> plugins() {
  std::vector<std::string> out;
  for (const auto& item : fs::directory_iterator(PESUITE_TEST_PLUGINS))
    if (item.path().string().ends_with(".plugin.so")) out.push_back(item.path());
  EXPECT_FALSE(out.empty());
  return out;
}

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  for (int c; (c = std::fgetc(pipe)) != EOF;) out += static_cast<char>(c);
  ::pclose(pipe);
  return out;
}

TEST(BuiltPlugin, ExportsItsEntryOnly) {
  for (const std::string& file : plugins())
    EXPECT_EQ(output_of("nm --dynamic --defined-only --format=just-symbols '" + file + "'"),
              "pes_entry\n")
        << file << ": hide everything else; pesuite_plugin() of cmake/plugins.cmake does";
}

TEST(BuiltPlugin, LoadsWithNothingUnresolved) {
  for (const std::string& file : plugins())
    EXPECT_EXIT(
        {
          void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
          if (library == nullptr) std::fprintf(stderr, "%s\n", ::dlerror());
          std::_Exit(library != nullptr && ::dlsym(library, "pes_entry") != nullptr ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "")
        << file << ": a plugin links the standard library and nothing of the program";
}

}  // namespace
}  // namespace pesuite::testing
