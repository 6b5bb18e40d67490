#include "model/safetensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_error.h"
#include "base/seal.h"

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");

namespace pesuite {

namespace {

constexpr std::uint64_t largest_header = 100'000'000;  // as the format's own library has it

constexpr std::string_view checksums_start = "\"xxh3\":\"";  // in the header, as it is written
constexpr std::size_t digits = 16;
constexpr std::size_t piece = std::size_t{1} << 18;  // bytes that are read at a time

// Nothing where an extent is negative or the product absurdly large.
std::optional<std::uint64_t> count_of(const std::vector<std::int64_t>& shape) {
  std::uint64_t n = 1;
  for (const std::int64_t e : shape) {
    if (e < 0 || (e > 0 && n > (std::uint64_t{1} << 48) / static_cast<std::uint64_t>(e))) return {};
    n *= static_cast<std::uint64_t>(e);
  }
  return n;
}

std::uint64_t bytes_of_type(const std::string& type) {  // 0: unknown
  static const std::map<std::string, std::uint64_t> bytes = {
      {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8}, {"U64", 8}, {"I32", 4},
      {"U32", 4}, {"I16", 2}, {"U16", 2}, {"I8", 1},   {"U8", 1},  {"BOOL", 1}};
  const auto it = bytes.find(type);
  return it == bytes.end() ? 0 : it->second;
}

// IEEE 754 half precision. Its bits as those of a float stand for a number 2^112 times too small,
// subnormal ones among them; infinity and NaN want the largest exponent.
float float_of_half(std::uint16_t h) {
  const std::uint32_t sign = (h & 0x8000u) << 16, rest = (h & 0x7fffu) << 13;
  const auto finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) * 0x1p112f);
  return std::bit_cast<float>(sign | ((h & 0x7c00u) == 0x7c00u ? rest | 0x7f800000u : finite));
}

template <class T>
T stored_at(const char* bytes, std::size_t i) {
  T x;
  std::memcpy(&x, bytes + i * sizeof x, sizeof x);
  return x;
}

// Numbers of one of the four types as T, float or double.
template <class T>
void widen(const std::string& type, const char* bytes, std::span<T> out) {
  const auto each = [&](auto number) {
#pragma omp simd
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(number(i));
  };
  if (type == "F64")
    each([&](std::size_t i) { return stored_at<double>(bytes, i); });
  else if (type == "F32")
    each([&](std::size_t i) { return stored_at<float>(bytes, i); });
  else if (type == "F16")
    each([&](std::size_t i) { return float_of_half(stored_at<std::uint16_t>(bytes, i)); });
  else
    each([&](std::size_t i) {
      return std::bit_cast<float>(std::uint32_t{stored_at<std::uint16_t>(bytes, i)} << 16);
    });
}

TensorEntry parse_entry(const std::string& name, const nlohmann::json& j, std::uint64_t data_start,
                        std::uint64_t file_size) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(fmt::format("tensor '{}' has {}", name, why));
  };
  TensorEntry e;
  e.name = name;
  e.type = j.at("dtype").get<std::string>();
  const std::uint64_t bytes = bytes_of_type(e.type);
  if (bytes == 0) refuse("type " + e.type + ", which is not known");
  for (const auto& extent : j.at("shape")) e.shape.push_back(extent.get<std::int64_t>());
  const auto offsets = j.at("data_offsets").get<std::vector<std::uint64_t>>();
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > file_size - data_start)
    refuse("offsets outside the file");
  e.begin = data_start + offsets[0];
  e.end = data_start + offsets[1];
  const std::optional<std::uint64_t> count = count_of(e.shape);
  if (!count) refuse("a shape that is negative or absurdly large");
  if (e.end - e.begin != *count * bytes) refuse("a size that is not its shape's");
  return e;
}

}  // namespace

SafetensorsReader::SafetensorsReader(const fs::path& path) : path_(path) {
  const auto refuse = [&](const std::string& why) {
    fail(Exit::data, "{} is not a sound safetensors file: {}; it may be truncated or damaged",
         path.string(), why);
  };
  std::ifstream file(path, std::ios::binary);
  if (!file) cannot_open(path);
  std::error_code error;
  const std::uint64_t size = fs::file_size(path, error);
  std::uint64_t header_size = 0;
  if (error || size < 8 || !file.read(reinterpret_cast<char*>(&header_size), 8))
    refuse("it is shorter than 8 bytes");
  if (header_size > largest_header || header_size > size - 8)
    refuse(fmt::format("its header claims {} bytes of {}", header_size, size));
  std::string header(header_size, '\0');
  if (!file.read(header.data(), static_cast<std::streamsize>(header_size)))
    refuse("its header ends early");
  std::string where = "its header";
  try {
    // a callback that refuses names that come twice, which a map would hide
    std::vector<std::set<std::string>> seen;
    const auto unique = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
      using E = nlohmann::json::parse_event_t;
      if (event == E::object_start) seen.emplace_back();
      if (event == E::object_end) seen.pop_back();
      if (event == E::key && !seen.back().insert(parsed.get<std::string>()).second)
        throw std::invalid_argument("the name '" + parsed.get<std::string>() + "' twice");
      return true;
    };
    const auto j = nlohmann::json::parse(header, unique);
    if (!j.is_object()) refuse("its header is no JSON object");
    for (const auto& [name, value] : j.items()) {
      where = name == "__metadata__" ? name : fmt::format("tensor '{}'", name);
      if (name == "__metadata__") {
        metadata_ = value.get<std::map<std::string, std::string>>();
      } else {
        tensors_.emplace(name, parse_entry(name, value, 8 + header_size, size));
      }
    }
  } catch (const nlohmann::json::exception& e) {
    refuse(fmt::format("{}: {}", where, json_error(e)));
  } catch (const std::invalid_argument& e) {
    refuse(e.what());
  }
  const std::vector<TensorEntry*> order = in_order();
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i]->begin < order[i - 1]->end)
      refuse(fmt::format("tensors '{}' and '{}' overlap", order[i - 1]->name, order[i]->name));
  if (has_checksums()) take_checksums(std::move(header));
}

// As they lie in the file; what is empty stands before what begins where it does.
std::vector<TensorEntry*> SafetensorsReader::in_order() {
  std::vector<TensorEntry*> order;
  for (auto& [name, e] : tensors_) order.push_back(&e);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  return order;
}

void SafetensorsReader::take_checksums(std::string header) {
  const std::string all = metadata_.at("xxh3");
  const std::size_t at = header.find(checksums_start);
  if (all.size() != digits * (1 + tensors_.size()) || at == std::string::npos)
    fail(Exit::data, "{} is damaged: it has {} digits of checksums for {} tensors", path_.string(),
         all.size(), tensors_.size());
  header.replace(at + checksums_start.size(), digits, digits, '0');
  if (checksum(header) != all.substr(0, digits))
    fail(Exit::data, "{} is damaged: the checksum of its header is of something else",
         path_.string());
  const std::vector<TensorEntry*> order = in_order();
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i]->checksum = all.substr(digits * (1 + i), digits);
}

std::string SafetensorsReader::bytes_of(const TensorEntry& e) const {
  std::ifstream file(path_, std::ios::binary);
  if (!file) cannot_open(path_);
  file.seekg(static_cast<std::streamoff>(e.begin));
  std::string bytes(e.end - e.begin, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) fail(Exit::data, "{}: tensor '{}' cannot be read to its end", path_.string(), e.name);
  if (!e.checksum.empty() && checksum(bytes) != e.checksum)
    fail(Exit::data, "{} is damaged: the checksum of tensor '{}' is of something else",
         path_.string(), e.name);
  return bytes;
}

void SafetensorsReader::check() const {
  for (const auto& [name, e] : tensors_) bytes_of(e);
}

std::vector<double> SafetensorsReader::read(const std::string& name, const Shape& shape) const {
  const auto it = tensors_.find(name);
  if (it == tensors_.end()) fail(Exit::data, "{} holds no tensor '{}'", path_.string(), name);
  const TensorEntry& e = it->second;
  const std::vector<std::int64_t> wanted(shape.data(), shape.data() + shape.rank());
  if (e.shape != wanted)
    fail(Exit::data, "{}: tensor '{}' is [{}], wanted {}", path_.string(), name,
         fmt::join(e.shape, ", "), shape.text());
  require_numbers(e);
  const std::string bytes = bytes_of(e);
  std::vector<double> values(static_cast<std::size_t>(shape.count()));
  widen(e.type, bytes.data(), std::span(values));
  return values;
}

void SafetensorsReader::read(const TensorEntry& e, std::uint64_t first,
                             std::span<float> out) const {
  require_numbers(e);
  const std::uint64_t size = bytes_of_type(e.type);
  PES_CHECK((first + out.size()) * size <= e.end - e.begin);
  std::ifstream file(path_, std::ios::binary);
  if (!file) cannot_open(path_);
  file.seekg(static_cast<std::streamoff>(e.begin + first * size));
  const std::size_t most = piece / size;  // numbers at a time, in a cache until they are widened
  const auto bytes = std::make_unique_for_overwrite<char[]>(std::min(most, out.size()) * size);
  for (std::size_t at = 0; at < out.size(); at += most) {
    const std::span<float> some = out.subspan(at, std::min(most, out.size() - at));
    file.read(bytes.get(), static_cast<std::streamsize>(some.size() * size));
    if (!file)
      fail(Exit::data, "{}: tensor '{}' cannot be read to its end", path_.string(), e.name);
    widen(e.type, bytes.get(), some);
  }
}

void SafetensorsReader::require_numbers(const TensorEntry& e) const {
  if (e.type != "F64" && e.type != "F32" && e.type != "F16" && e.type != "BF16")
    fail(Exit::data, "{}: tensor '{}' has type {}; F64, F32, F16 and BF16 are read", path_.string(),
         e.name, e.type);
}

bool is_sound_safetensors(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return false;
  try {
    SafetensorsReader(path).check();
    return true;
  } catch (const Unopened&) {
    throw;
  } catch (const Error&) {
    return false;
  }
}

void write_safetensors(const fs::path& path, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata, bool wide,
                       const std::function<std::vector<double>(std::size_t)>& values) {
  Json header;
  header["__metadata__"] = metadata;
  header["__metadata__"]["xxh3"] = std::string(digits * (1 + tensors.size()), '0');
  std::uint64_t at = 0;
  for (const TensorToWrite& t : tensors) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(t.shape.count()) * (wide ? 8 : 4);
    header[t.name] = {
        {"dtype", wide ? "F64" : "F32"},
        {"shape", std::vector<std::int64_t>(t.shape.data(), t.shape.data() + t.shape.rank())},
        {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // the data starts at a multiple of 8
  const std::uint64_t size = text.size();
  AtomicFile file(path);
  file.write({reinterpret_cast<const char*>(&size), 8});
  file.write(text);
  std::string checksums;
  const auto write = [&](const auto& all) {
    const std::string_view bytes(reinterpret_cast<const char*>(all.data()),
                                 all.size() * sizeof all[0]);
    checksums += checksum(bytes);
    file.write(bytes);
  };
  std::vector<float> narrow;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::vector<double> v = values(i);
    PES_CHECK(v.size() == static_cast<std::size_t>(tensors[i].shape.count()));
    narrow.resize(wide ? 0 : v.size());
    std::transform(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(narrow.size()),
                   narrow.begin(), [](double x) { return static_cast<float>(x); });
    wide ? write(v) : write(narrow);
  }
  const std::size_t digits_at = text.find(checksums_start) + checksums_start.size();
  text.replace(digits_at + digits, checksums.size(), checksums);
  text.replace(digits_at, digits, checksum(text));  // of itself with zeros here
  file.overwrite(8, text);
  file.commit();
}

}  // namespace pesuite
