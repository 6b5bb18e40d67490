// Encodings against vectors made by public reference code, by the runner of `plugin golden`: values
// and gradients, on the reference backend within the vector's own tolerance and on the CPU within
// that of fp32.
//
// tests/golden holds what this test needs; a folder of further vectors of the same schema is used
// as well where CMake's PESUITE_GOLDEN_DIR points to one.
#include "golden/golden.h"

#include <fmt/format.h>

#include <map>

#include "tests/support.h"

namespace pesuite::golden {
namespace {

struct File {
  fs::path path;
  std::string backend;
};
void PrintTo(const File& f, std::ostream* out) {
  *out << f.backend << " " << f.path.stem().string();
}

std::vector<File> files() {
  std::map<std::string, fs::path> paths;  // by name; a clone's own come first
  for (const char* folder : {PESUITE_TEST_DIR "/golden", PESUITE_GOLDEN_DIR})
    if (fs::is_directory(folder))
      for (const fs::path& file : vector_files(folder)) paths.emplace(file.stem(), file);
  std::vector<File> all;
  for (const auto& [name, path] : paths)
    for (const char* backend : {"reference", "cpu"}) all.push_back({path, backend});
  return all;
}

class Golden : public ::testing::TestWithParam<File> {};

TEST_P(Golden, ValuesAndGradients) {
  const Catalog catalog = open_catalog({PESUITE_TEST_PLUGINS});
  const auto backend = open_backend(GetParam().backend, {});
  const Outcome o = check(Vector::read(GetParam().path), Rules::beside(catalog), catalog, *backend);
  if (o.status == Status::skipped) GTEST_SKIP() << o.name << ": " << o.reason;
  EXPECT_EQ(o.status, Status::passed) << o.name << ", " << o.encoding << ": " << o.reason;
  EXPECT_NE(o.worst.output, "") << "nothing was compared";
}

INSTANTIATE_TEST_SUITE_P(Vectors, Golden, ::testing::ValuesIn(files()), [](const auto& info) {
  return info.param.path.stem().string() + "_" + info.param.backend;
});

}  // namespace
}  // namespace pesuite::golden
