#include "data/fetched.h"

#include "base/text.h"
#include "data/download.h"

namespace pesuite::data {

namespace {

std::string name_of(const std::string& url) {
  const std::string path = url.substr(0, url.find_first_of("?#"));
  return file_name_of(path.substr(path.find_last_of('/') + 1));
}

class Fetched : public Documents {
 public:
  Fetched(Fetching f, const Cursor& cursor)
      : f_(std::move(f)), file_(cursor.file), start_(cursor.bytes) {
    for (const Remote& r : f_.files) {
      here_.push_back(f_.folder / fmt::format("{:05}-{}", here_.size(), name_of(r.url)));
      bytes_ += r.bytes;
      if (here_.size() <= file_) before_ += r.bytes;
    }
  }

  bool next(Document& d) override {
    for (; file_ < here_.size(); ++file_, start_ = 0) {
      if (!inside_) {
        fetch();
        inside_ = open_documents({here_[file_]}, f_.documents, {0, start_});
      }
      if (inside_->next(d)) return true;
      before_ += inside_->bytes_read(), skipped_ += inside_->skipped();
      inside_.reset();
    }
    return false;
  }
  Cursor cursor() const override { return {file_, inside_ ? inside_->cursor().bytes : start_}; }
  bool inside() const override { return inside_ && inside_->inside(); }
  const std::vector<fs::path>& files() const override { return here_; }
  std::uint64_t bytes() const override { return bytes_; }
  std::uint64_t bytes_read() const override {
    return before_ + (inside_ ? inside_->bytes_read() : 0);
  }
  std::uint64_t skipped() const override { return skipped_; }

 private:
  void fetch() {
    const Remote& r = f_.files[file_];
    const auto progress = [&](std::uint64_t bytes) {
      f_.say(fmt::format("fetching {}, {} of {} files: {}", name_of(r.url), file_ + 1,
                         f_.files.size(), format_bytes(static_cast<double>(bytes))));
    };
    // What reads does not keep its place in every document, and may need the file before once more.
    std::error_code none;
    if (!f_.keep && file_ >= 2) fs::remove(here_[file_ - 2], none);
    if (!download({r.url, here_[file_], r.sha256}, *f_.stop, progress))
      fail(Exit::interrupted, "interrupted; the same command goes on");
  }

  Fetching f_;
  std::vector<fs::path> here_;
  std::size_t file_;
  std::uint64_t start_, bytes_ = 0, before_ = 0, skipped_ = 0;
  std::unique_ptr<Documents> inside_;  // of here_[file_]
};

}  // namespace

std::unique_ptr<Documents> fetched_documents(Fetching f, const Cursor& cursor) {
  return std::make_unique<Fetched>(std::move(f), cursor);
}

}  // namespace pesuite::data
