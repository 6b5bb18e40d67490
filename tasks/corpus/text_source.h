// Text read from files: what counts as text, which part is held out, what it hashes to.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace text {

namespace fs = std::filesystem;

using Digest = std::array<std::uint64_t, 2>;
Digest digest(std::string_view bytes);  // of the content; the same on every machine
std::string hexadecimal(const Digest&);

bool is_text(std::string_view bytes);  // valid UTF-8 without NUL, and not empty

// "~/x" is below the user's home, as in a shell, which sees no path inside quotes.
fs::path at_home(const fs::path&);

struct Files {
  std::vector<std::string> texts;  // in the order of their paths
  int skipped = 0;                 // files that are no text
  int unreadable = 0;              // files of a folder that cannot be read
  int duplicates = 0;              // files that repeat another one's content
};
// A file, or the files of a folder and its subfolders. pes::Refusal with a sentence when there is
// no such path, it is a file that cannot be read, or it holds no text.
Files read(const fs::path&);
std::string describe(const Files&);  // "12 files (2 skipped, not UTF-8 text)"

struct Named {
  fs::path train, held_out;
};
// The two files of a folder whose names say what they are for: train.txt and validation.txt, else
// the only .txt whose name ends in "train" and the only one in "validation", "valid" or "val".
std::optional<Named> named_splits(const fs::path& folder);

struct Split {
  std::string train, held_out;
};
// Holds out `share` of the text: whole files, chosen by a hash of their content so that neither
// names nor order matter; or, where there are few files, the end of the text.
Split split(std::vector<std::string> texts, double share);

std::string join(std::vector<std::string> texts);  // with a blank line in between

}  // namespace text
