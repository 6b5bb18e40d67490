#include "report/earlier.h"

#include <algorithm>

namespace pesuite {

namespace fs = std::filesystem;

void remove_earlier(const fs::path& folder, const std::set<std::string>& kept,
                    const std::vector<std::string>& marks,
                    const std::vector<std::string>& extensions) {
  std::error_code error;
  std::set<std::string> names;
  for (const auto& file : fs::directory_iterator(folder, error))
    names.insert(file.path().stem().string());
  const auto file_of = [&](const std::string& name, const std::string& extension) {
    return folder / (name + "." + extension);
  };
  for (const std::string& name : names) {
    if (kept.contains(name)) continue;
    if (!std::all_of(marks.begin(), marks.end(), [&](const std::string& extension) {
          return fs::exists(file_of(name, extension), error);
        }))
      continue;
    for (const std::string& extension : extensions) fs::remove(file_of(name, extension), error);
  }
}

}  // namespace pesuite
