#include "base/elf.h"

#include <elf.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/file.h"

namespace pesuite {

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
    fail(Exit::plugin, "{}: {}, so it cannot be read as a library", name_, reason);
  }

 private:
  std::string bytes_, name_;
};

Elf64_Ehdr header_of(const Image& image) {
  const auto magic = image.at<std::array<char, SELFMAG>>(0);
  if (std::memcmp(magic.data(), ELFMAG, SELFMAG) != 0) image.refuse("is no ELF file");
  const auto header = image.at<Elf64_Ehdr>(0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    image.refuse("is not a 64-bit little-endian library");
  return header;
}

std::vector<Elf64_Phdr> segments_of(const Image& image) {
  const Elf64_Ehdr header = header_of(image);
  if (header.e_phnum > 0 && header.e_phentsize != sizeof(Elf64_Phdr))
    image.refuse("has program headers of an unknown size");
  std::vector<Elf64_Phdr> out;
  for (unsigned i = 0; i < header.e_phnum; ++i)
    out.push_back(image.at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr)));
  return out;
}

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

// The build id among the notes of a segment; "" where it is not there.
std::string build_id_in(const Image& image, const Elf64_Phdr& segment) {
  const std::uint64_t step = segment.p_align == 8 ? 8 : 4;
  const auto padded = [&](std::uint64_t n) { return (n + step - 1) / step * step; };
  for (std::uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= segment.p_filesz;) {
    const auto note = image.at<Elf64_Nhdr>(segment.p_offset + at);
    const std::uint64_t name = segment.p_offset + at + sizeof note;
    const std::uint64_t content = name + padded(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && image.text(name) == "GNU") {
      std::string out;
      for (std::uint64_t i = 0; i < note.n_descsz; ++i)
        out += fmt::format("{:02x}", image.at<unsigned char>(content + i));
      return out;
    }
    at += sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
  }
  return "";
}

}  // namespace

std::string build_id(const std::filesystem::path& file) {
  const Image image(read_file(file), file.string());
  for (const Elf64_Phdr& segment : segments_of(image)) {
    if (segment.p_type != PT_NOTE) continue;
    if (std::string id = build_id_in(image, segment); !id.empty()) return id;
  }
  return "";
}

void expect_whole(const std::filesystem::path& file) {
  const Image image(read_file(file), file.string());
  for (const Elf64_Phdr& segment : segments_of(image))
    if (segment.p_type == PT_LOAD && segment.p_filesz > 0)
      image.at<char>(segment.p_offset + segment.p_filesz - 1);
}

std::vector<std::string> exported_symbols(const std::filesystem::path& file) {
  const Image image(read_file(file), file.string());
  const Elf64_Ehdr header = header_of(image);
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

}  // namespace pesuite
