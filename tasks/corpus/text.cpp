// The user's own text, byte by byte: a folder of UTF-8 files, one file, or two for training and
// validation. An example is a window of it; the target is the next byte.
#include <numeric>
#include <pesuite/pesuite.hpp>

#include "text_leaks.h"
#include "text_source.h"

namespace {

namespace fs = std::filesystem;

std::string bytes(std::size_t n) {
  return std::to_string(n) + " bytes";
}

// The i-th of n places, in an order whose beginnings are spread evenly: steps of the golden ratio.
std::size_t spread(std::size_t i, std::size_t n) {
  auto step = static_cast<std::size_t>(0.618 * static_cast<double>(n));
  while (std::gcd(step, n) != 1) ++step;
  return i * step % n;
}

struct Text : pes::Task {
  static constexpr pes_option options[] = {
      pes::text("path", "",
                "a folder of UTF-8 files, with its subfolders, or one file; of a folder that holds "
                "train.txt and validation.txt, or X-train.txt and X-valid.txt, these two are used"),
      pes::text("train", "", "file or folder to train on, instead of path"),
      pes::text("validation", "", "file or folder to validate and test on, instead of path"),
      pes::real("validation_share", "0.1", 0.001, 0.5, "share of path to hold out"),
      pes::choice("leaks", "drop", "drop|report|refuse",
                  "what to do about held-out paragraphs that the training text holds as well"),
      pes::integer("document", "0", 0, 1 << 30,
                   "bytes of a document; 0: as many as the evaluation reaches")};
  static constexpr pes_card card = pes::card<Text>(
      {.name = "text", .summary = "your own text, byte by byte", .taxonomy = "language"});

  std::string train, held_out;  // validation is the first half of the latter, test the second

  Text(const pes_use& use, const pes::Values& v) {
    document = v.integer("document") > 0 ? v.integer("document") : use.reach;
    inputs = outputs = PES_FIRST_SYMBOL + 256;
    head = PES_LM;
    token_bytes.assign(PES_FIRST_SYMBOL, 0);
    token_bytes.resize(inputs, 1);
    load(text::at_home(v.text("path")), text::at_home(v.text("train")),
         text::at_home(v.text("validation")), v.real("validation_share"));
    treat_leaks(v.text("leaks"));
    require_size(use);
    documents[PES_SPLIT_VALIDATION] = documents[PES_SPLIT_TEST] = held_out_count();
    digest = text::hexadecimal(text::digest(train)) + text::hexadecimal(text::digest(held_out));
    note += "; " + bytes(train.size()) + " to train on, " + bytes(held_out.size()) +
            " to validate and test on";
  }

  void load(const fs::path& path, fs::path train_path, fs::path held_out_path, double share) {
    if (train_path.empty() != held_out_path.empty() || path.empty() == train_path.empty())
      throw pes::Refusal(
          "needs text: path='FOLDER or FILE', or both train='FILE' and validation='FILE'");
    if (!path.empty())
      if (const auto files = text::named_splits(path)) {
        train_path = files->train;
        held_out_path = files->held_out;
      }
    if (train_path.empty()) {
      text::Files files = text::read(path);
      note = text::describe(files);
      text::Split parts = text::split(std::move(files.texts), share);
      train = std::move(parts.train);
      held_out = std::move(parts.held_out);
    } else {
      text::Files a = text::read(train_path), b = text::read(held_out_path);
      note = text::describe(a) + " for training, " + text::describe(b) + " for validation";
      train = text::join(std::move(a.texts));
      held_out = text::join(std::move(b.texts));
    }
  }

  void treat_leaks(std::string_view policy) {
    const text::Leaks leaks = text::find_leaks(train, held_out);
    if (leaks.leaking.empty()) return;
    const std::string found = text::describe(leaks);
    if (policy == "refuse") throw pes::Refusal(found + "; leaks=drop leaves them out");
    note += "; " + found;
    if (policy == "report") return;
    note += ", and were dropped";
    std::string kept;
    for (const std::string_view paragraph : leaks.kept) kept += paragraph;
    held_out = std::move(kept);
  }

  // Each document needs one byte more, the target of its last one.
  std::size_t span() const { return document + 1; }
  std::int64_t held_out_count() const { return held_out.size() / 2 / span(); }

  void require_size(const pes_use& use) const {
    if (use.max_length > document)
      throw pes::Refusal("lengths up to " + std::to_string(use.max_length) +
                         " do not fit into documents of " + bytes(document));
    if (train.size() < span())
      throw pes::Refusal("the training text has " + bytes(train.size()) +
                         ", too few for a document of " + bytes(span()));
    if (held_out.size() / 2 < span())
      throw pes::Refusal("the held-out text has " + bytes(held_out.size()) + " (" + note +
                         "), and each half of it must hold a document of " + bytes(span()) +
                         ": give more text, a larger validation_share or shorter lengths");
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    if (std::max<std::int64_t>(r.start, 0) + r.length > document)
      throw pes::Refusal("a window of " + bytes(e.tokens.size()) + " from byte " +
                         std::to_string(std::max<std::int64_t>(r.start, 0)) +
                         " does not fit into a document of " + bytes(document));
    const bool training = r.split == PES_SPLIT_TRAIN;
    const char* from = training ? train.data() + training_place(r, random)
                                : held_out.data() + held_out_place(r, random);
    const auto token = [&](std::size_t i) {
      return PES_FIRST_SYMBOL + static_cast<unsigned char>(from[i]);
    };
    for (std::size_t t = 0; t < e.tokens.size(); ++t) {
      e.tokens[t] = token(t);
      e.targets[t] = token(t + 1);
    }
  }
  // Anywhere in the text, uniformly.
  std::uint64_t training_place(const pes::Request& r, pes::Random& random) const {
    if (r.start < 0) return random.below64(train.size() - r.length);
    return random.below64(train.size() - document) + r.start;
  }
  // Documents of the held-out text stand side by side.
  std::uint64_t held_out_place(const pes::Request& r, pes::Random& random) const {
    const std::size_t half = held_out.size() / 2, count = held_out_count();
    if (r.index >= count)
      throw pes::Refusal("there is no document " + std::to_string(r.index) +
                         ": half of the held-out text has " + std::to_string(count) +
                         " documents of " + bytes(document) + ", counted from 0");
    const std::size_t first = r.split == PES_SPLIT_TEST ? half : 0;
    const std::uint64_t start = r.start < 0 ? random.below64(document - r.length + 1) : r.start;
    return first + spread(r.index, count) * (half / count) + start;
  }
  double distinct(int length) const {
    return std::log10(static_cast<double>(train.size()) - length);
  }
};

}  // namespace

extern const pes_task text_task = pes::task<Text>;
