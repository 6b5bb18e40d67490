// Event files of TensorBoard: frames of a TFRecord, each a protobuf message. The few fields that
// are needed are written here, by their published numbers (tensorboard/compat/proto: event,
// summary, tensor; plugins/hparams: plugin_data).
#include <boost/crc.hpp>
#include <cstring>
#include <set>
#include <tuple>

#include "base/file.h"
#include "base/text.h"
#include "exports/follow.h"

namespace pesuite {

namespace {

// CRC-32C (Castagnoli), masked as TFRecord has it, so that checksums of checksums are none.
std::uint32_t masked_checksum(const std::string& bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  const std::uint32_t sum = crc.checksum();
  return ((sum >> 15) | (sum << 17)) + 0xa282ead8u;
}
template <class T>
std::string little_endian(T value) {
  std::string out;
  for (std::size_t i = 0; i < sizeof value; ++i)
    out += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff);
  return out;
}
std::string frame(const std::string& message) {
  const std::string length = little_endian(static_cast<std::uint64_t>(message.size()));
  return length + little_endian(masked_checksum(length)) + message +
         little_endian(masked_checksum(message));
}

// A protobuf message as it is built up.
class Message {
 public:
  Message& number(int field, std::uint64_t value) {  // int32, int64, enum, bool
    key(field, 0);
    varint(value);
    return *this;
  }
  Message& real(int field, double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    key(field, 1);
    bytes_ += little_endian(bits);
    return *this;
  }
  Message& single(int field, float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    key(field, 5);
    bytes_ += little_endian(bits);
    return *this;
  }
  Message& text(int field, const std::string& value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& inner(int field, const Message& m) { return text(field, m.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void key(int field, int wire) { varint(static_cast<std::uint64_t>(field << 3 | wire)); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

Message event(double time, std::int64_t step) {
  Message m;
  m.real(1, time);
  if (step != 0) m.number(2, static_cast<std::uint64_t>(step));
  return m;
}
Message scalar(const SessionPoint& p, double time, std::int64_t step) {
  Message value, summary;
  value.text(1, p.name).single(2, static_cast<float>(p.value));
  summary.inner(1, value);
  return event(time, step).inner(5, summary);
}

// Of the hparams plugin, whose values stand beside an empty tensor.
Message hparams_event(const std::string& tag, const Message& content, double time) {
  Message plugin, metadata, extent, shape, tensor, value, summary;
  plugin.text(1, "hparams").inner(2, content);
  metadata.inner(1, plugin);
  extent.number(1, 1);
  shape.inner(2, extent);
  tensor.number(1, 1).inner(2, shape).single(5, 0);
  value.text(1, tag).inner(8, tensor).inner(9, metadata);
  summary.inner(1, value);
  return event(time, 0).inner(5, summary);
}
Message setting(const Json& j) {  // google.protobuf.Value
  Message m;
  if (j.is_number()) return m.real(2, j.get<double>());
  if (j.is_boolean()) return m.number(4, j.get<bool>() ? 1 : 0);
  return m.text(3, j.is_string() ? j.get<std::string>() : j.dump());
}
Message session_start(const Session& s) {
  Message start, data;
  for (const auto& [name, value] : s.settings) {
    Message entry;
    entry.text(1, name).inner(2, setting(value));
    start.inner(1, entry);
  }
  start.text(4, s.series).real(5, s.begin);
  return data.number(1, 0).inner(3, start);
}
Message session_end(const Session& s) {
  constexpr std::uint64_t success = 1, failure = 2, running = 3;
  const bool good = s.status == "ok" || s.status == "diverged";
  Message end, data;
  end.number(1, s.at_work ? running : good ? success : failure).real(2, s.end);
  return data.number(1, 0).inner(4, end);
}

std::string beginning_of(const Session& s) {
  return frame(event(s.begin, 0).text(3, "brain.Event:2").bytes()) +
         frame(hparams_event("_hparams_/session_start_info", session_start(s), s.begin).bytes());
}
std::string ending_of(const Session& s) {
  return frame(hparams_event("_hparams_/session_end_info", session_end(s), s.end).bytes());
}
std::string point_of(const Session& s, const SessionPoint& p, bool by_tokens) {
  return frame(scalar(p, s.begin, p.length > 0 ? p.length : by_tokens ? p.tokens : p.step).bytes());
}
std::string events_of(const Session& s, bool by_tokens) {
  std::string out = beginning_of(s);
  for (const SessionPoint& p : s.points) out += point_of(s, p, by_tokens);
  return out + ending_of(s);
}

// A folder's files by an earlier export, which the new one replaces.
void make_room(const fs::path& folder) {
  std::error_code error;
  for (const auto& item : fs::directory_iterator(folder, error))
    if (item.path().extension() == ".pesuite") fs::remove(item.path(), error);
}
fs::path file_of(const Session& s, bool by_tokens, const fs::path& out) {
  return out / file_name_of(s.run) / (file_name_of(s.name) + "-" + s.cell) /
         (by_tokens ? "tokens" : "steps") /
         fmt::format("events.out.tfevents.{:.0f}.pesuite", s.begin);
}

// A picture as tag "answer": its sizes stand behind PNG's signature and the head of its first
// chunk.
std::string image_of(const std::string& tag, const std::string& png) {
  constexpr std::size_t sizes = 16, end = 24;
  if (png.size() < end || png.substr(1, 3) != "PNG") return "";
  const auto number = [&](std::size_t at) {
    std::uint64_t out = 0;
    for (std::size_t i = at; i < at + 4; ++i) out = out << 8 | static_cast<unsigned char>(png[i]);
    return out;
  };
  constexpr std::uint64_t rgb = 3;
  Message image, value, summary;
  image.number(1, number(sizes + 4)).number(2, number(sizes)).number(3, rgb).text(4, png);
  value.text(1, tag).inner(4, image);
  summary.inner(1, value);
  return frame(event(0, 0).inner(5, summary).bytes());
}

class TensorboardFollower : public Follower {
 public:
  explicit TensorboardFollower(fs::path out) : out_(std::move(out)) {}

  std::vector<std::string> send(const std::vector<Session>& sessions, bool over) override {
    for (const Session& s : sessions) {
      Written& w = written_[s.run + "/" + s.cell];
      if (w.ended) continue;
      w.ended = over || !s.at_work;
      for (const bool by_tokens : {false, true}) grow(w, s, by_tokens);
      for (const SessionPoint& p : s.points) w.points.insert(key_of(p));
    }
    return {};
  }

 private:
  using Key = std::tuple<std::string, std::int64_t, int>;  // of a point
  struct Written {
    fs::path files[2];
    std::set<Key> points;
    bool ended = false;
  };
  static Key key_of(const SessionPoint& p) { return {p.name, p.step, p.length}; }

  void grow(Written& w, const Session& s, bool by_tokens) {
    fs::path& file = w.files[by_tokens ? 1 : 0];
    std::string more;
    for (const SessionPoint& p : s.points)
      if (!w.points.contains(key_of(p))) more += point_of(s, p, by_tokens);
    if (w.ended) more += ending_of(s);
    if (file.empty()) {
      file = file_of(s, by_tokens, out_);
      make_room(file.parent_path());
      write_file_atomic(file, beginning_of(s) + more);
    } else if (!more.empty()) {
      append_file(file, more);
    }
  }

  const fs::path out_;
  std::map<std::string, Written> written_;
};

}  // namespace

void write_tensorboard(const std::vector<Session>& sessions, const fs::path& out) {
  for (const Session& s : sessions)
    for (const bool by_tokens : {false, true}) {
      const fs::path file = file_of(s, by_tokens, out);
      make_room(file.parent_path());
      write_file_atomic(file, events_of(s, by_tokens));
    }
}

std::size_t write_tensorboard_images(const RunFiles& r, const fs::path& out) {
  std::string all = frame(event(0, 0).text(3, "brain.Event:2").bytes());
  std::size_t count = 0;
  for (const auto& [name, file] : r.files) {
    if (file.extension() != ".png") continue;
    const std::string image = image_of(fs::path(name).stem().string(), read_file(file));
    if (image.empty()) continue;
    all += image;
    ++count;
  }
  const fs::path folder = out / file_name_of(r.run) / "figures";
  make_room(folder);
  if (count > 0) write_file_atomic(folder / "events.out.tfevents.0.pesuite", all);
  return count;
}

std::unique_ptr<Follower> follow_tensorboard(const fs::path& out) {
  return std::make_unique<TensorboardFollower>(out);
}

}  // namespace pesuite
