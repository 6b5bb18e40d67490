#include "check/symbols.h"

#include <elf.h>
#include <array>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/file.h"

namespace pesuite::checks {

namespace {

// Reads of a file that may be cut or hostile: nothing outside it is ever touched.
class Image {
 public:
  Image(std::string bytes, std::string name) : bytes_(std::move(bytes)), name_(std::move(name)) {}

  template <class T>
  T at(std::uint64_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) refuse("ends too early");
    T out;
    std::memcpy(&out, bytes_.data() + offset, sizeof(T));
    return out;
  }
  std::string text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) refuse("has a name outside the file");
    const char* start = bytes_.data() + offset;
    return {start, ::strnlen(start, bytes_.size() - offset)};
  }
  [[noreturn]] void refuse(const char* reason) const {
    fail(Exit::plugin, "{}: {}, so its symbols cannot be read", name_, reason);
  }

 private:
  std::string bytes_, name_;
};

std::optional<Elf64_Shdr> dynamic_symbols(const Image& image, const Elf64_Ehdr& header) {
  if (header.e_shnum > 0 && header.e_shentsize != sizeof(Elf64_Shdr))
    image.refuse("has section headers of an unknown size");
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto section = image.at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type == SHT_DYNSYM) return section;
  }
  return std::nullopt;
}

bool is_exported(const Elf64_Sym& s) {
  const auto bind = ELF64_ST_BIND(s.st_info);
  const auto visibility = ELF64_ST_VISIBILITY(s.st_other);
  return s.st_shndx != SHN_UNDEF && bind != STB_LOCAL &&
         (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

}  // namespace

std::vector<std::string> exported_symbols(const std::filesystem::path& file) {
  const Image image(read_file(file), file.string());
  const auto magic = image.at<std::array<char, SELFMAG>>(0);
  if (std::memcmp(magic.data(), ELFMAG, SELFMAG) != 0) image.refuse("is no ELF file");
  const auto header = image.at<Elf64_Ehdr>(0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    image.refuse("is not a 64-bit little-endian library");
  const auto table = dynamic_symbols(image, header);
  if (!table) image.refuse("has no table of dynamic symbols");
  const auto names = image.at<Elf64_Shdr>(header.e_shoff + table->sh_link * sizeof(Elf64_Shdr));
  std::vector<std::string> out;
  for (std::uint64_t i = 0; i < table->sh_size / sizeof(Elf64_Sym); ++i) {
    const auto symbol = image.at<Elf64_Sym>(table->sh_offset + i * sizeof(Elf64_Sym));
    if (is_exported(symbol)) out.push_back(image.text(names.sh_offset + symbol.st_name));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace pesuite::checks
