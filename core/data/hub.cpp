#include "data/hub.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "base/json.h"
#include "data/download.h"

namespace pesuite::data {

namespace {

std::string escaped(const std::string& path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string text_in(const Json& j, const char* key) {
  const auto it = j.find(key);
  return it != j.end() && it->is_string() ? it->get<std::string>() : std::string();
}

}  // namespace

std::string hub_address(const std::string& base, const std::string& repository,
                        const std::string& path) {
  return fmt::format("{}/datasets/{}/resolve/main/{}", base, repository, escaped(path));
}

std::map<std::string, Remote> hub_files(const std::string& base, const std::string& repository,
                                        const std::string& folder, bool below,
                                        const std::atomic<bool>& stop) {
  std::map<std::string, Remote> found;
  std::string page =
      fmt::format("{}/api/datasets/{}/tree/main{}{}{}", base, repository, folder.empty() ? "" : "/",
                  escaped(folder), below ? "?recursive=true" : "");
  for (std::set<std::string> seen; !page.empty() && seen.insert(page).second;) {
    const Answer answer = fetched_text(page, stop);
    const Json j = Json::parse(answer.text, nullptr, false);
    if (!j.is_array()) fail(Exit::data, "{} is no list of files", page);
    for (const Json& f : j) {
      const std::string path = f.is_object() ? text_in(f, "path") : "";
      if (path.empty() || text_in(f, "type") != "file") continue;
      Remote r{hub_address(base, repository, path), "", 0};
      if (f.contains("size") && f["size"].is_number_unsigned()) r.bytes = f["size"];
      if (f.contains("lfs") && f["lfs"].is_object()) r.sha256 = text_in(f["lfs"], "oid");
      found.emplace(path, std::move(r));
    }
    page = answer.next;
  }
  return found;
}

}  // namespace pesuite::data
