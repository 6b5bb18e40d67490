#include "history/git.h"

#include <cstdlib>

#include "base/program.h"
#include "base/text.h"

namespace pesuite {

GitSaid git(const fs::path& repository, std::vector<std::string> words, bool both) {
  // messages in one language, times in one zone, and no repository but the named one, also in hooks
  words.insert(words.begin(),
               {"env", "-u", "GIT_DIR", "-u", "GIT_WORK_TREE", "-u", "GIT_INDEX_FILE", "LC_ALL=C",
                "TZ=UTC0", "git", "-C", repository.string()});
  const Printed p = printed_by(words);
  return {p.code, both ? p.out + p.err : p.out};
}

std::optional<Commit> find_commit(const fs::path& repository, const std::string& name) {
  if (name.empty() || name[0] == '-') return {};
  const GitSaid said =
      git(repository, {"log", "-1", "--abbrev=12", "--date=format-local:%Y-%m-%dT%H:%M:%SZ",
                       "--format=%h%x09%cd%x09%s", name + "^{commit}", "--"});
  const std::vector<std::string> parts = split(trim(said.out), '\t');
  if (said.code != 0 || parts.size() < 2) return {};
  Commit c{parts[0].substr(0, 12), parts[1], parts.size() > 2 ? parts[2] : ""};
  c.position = std::atoll(git(repository, {"rev-list", "--count", name, "--"}).out.c_str());
  return c;
}

}  // namespace pesuite
