// data import: text from files, Debian packages and published data sets.
#include <signal.h>

#include <atomic>

#include "base/signals.h"
#include "cli/arguments.h"
#include "cli/data.h"
#include "cli/steps.h"
#include "data/dataset.h"
#include "data/debian.h"
#include "data/published.h"

namespace pesuite::cli {

namespace {

std::atomic<bool> import_stop{false};
std::atomic<int> import_signal{0};
void stop_importing(int signal) {
  import_signal = signal;
  import_stop = true;
}

data::DocumentOptions document_options(const Arguments& a) {
  data::DocumentOptions options;
  options.field = a.text("field"), options.separator = a.text("separator");
  return options;
}

// Files and folders of the user's.
std::vector<data::Part> own_parts(const Arguments& a, const std::vector<std::string>& paths) {
  const data::DocumentOptions options = document_options(a);
  data::Part part;
  part.prefix = "documents";
  part.source.name = a.text("name", join(paths, ", "));
  part.source.origin = join(paths, ", ");
  part.source.licence = a.text("licence");
  part.open = [options, files = std::vector<fs::path>(paths.begin(), paths.end())](
                  const data::Cursor& cursor) {
    return data::open_documents(files, options, cursor);
  };
  part.open({});  // says what is wrong before anything is written
  return {part};
}

fs::path downloads_of(const Arguments& a) {
  return a.has("downloads") ? fs::path(a.text("downloads"))
                            : fs::path(a.text("output")) / "downloads";
}

std::vector<data::Part> parts_of(const Arguments& a, Steps& steps) {
  std::vector<std::string> what = a.texts("what");
  const fs::path downloads = downloads_of(a);
  if (what.front() == "debian") {
    what.erase(what.begin());
    if (what.empty())
      fail(Exit::usage, "name packages, as in: data import debian linux-doc perl-doc -o FOLDER");
    steps.at("fetching packages");
    return data::debian_parts(what, downloads);
  }
  if (what.size() == 1 && data::is_published(what.front()) && !fs::exists(what.front())) {
    data::PublishedOptions o;
    o.base = a.text("base-url", o.base);
    o.documents = document_options(a);
    o.most_shards = a.count("max-shards");
    o.list = a.text("list"), o.downloads = downloads, o.stop = &import_stop;
    o.keep_downloads = a.has("downloads");
    o.say = [&](const std::string& now) { steps.at(now); };
    return data::published_parts(what.front(), o);
  }
  return own_parts(a, what);
}

}  // namespace

namespace {

void add_import_flags(Arguments& a) {
  a.flags()("output,o", po::value<std::string>(), "folder to write")(
      "field", po::value<std::string>()->default_value("text"),
      "field of .jsonl, column of .parquet")("separator",
                                             po::value<std::string>()->default_value(""),
                                             "line that ends a document in a .txt")(
      "name", po::value<std::string>(), "name of the text (default: its path)")(
      "licence", po::value<std::string>()->default_value(""), "note of its licence")(
      "downloads", po::value<std::string>(),
      "folder of what is fetched, kept (default: FOLDER/downloads, until it is read)")(
      "max-shards", po::value<int>(), "of published data: at most so many files to train on")(
      "list", po::value<std::string>(),
      "of published data: a file of addresses, one a line, a SHA-256 behind it or not")(
      "base-url", po::value<std::string>(), "of published data: a mirror of huggingface.co");
  a.positional("what", -1);
}

void print_imported(const data::Imported& imported) {
  constexpr std::size_t shown = 60;  // bytes of a licence note
  std::vector<std::vector<std::string>> rows = {
      {"source", "version", "documents", "text", "licence"}};
  for (const data::Source& s : imported.sources)
    rows.push_back(
        {s.name, s.version, fmt::format("{}", s.documents),
         format_bytes(static_cast<double>(s.bytes)),
         s.licence.size() <= shown ? s.licence : s.licence.substr(0, shown - 3) + "..."});
  fmt::print("{}{} of {} in {}\n", plain_table(rows), counted(imported.documents, "document"),
             format_bytes(static_cast<double>(imported.bytes)),
             counted(imported.files.size(), "file"));
}

}  // namespace

int import_text_verb(const std::vector<std::string>& words) {
  Arguments a(
      "data import WHAT... --output FOLDER [flags]",
      "Makes a dataset of text: JSON lines, packed, with version, licence note and digests. WHAT "
      "is\n"
      "  files and folders          .txt, .jsonl, .gz and .zst of them; .parquet\n"
      "  debian PACKAGE...          the documentation in Debian packages, e.g. linux-doc perl-doc\n"
      "  tinystories, slimpajama, fineweb-edu, wikitext-103, pg-19: published data, fetched\n"
      "  hub:OWNER/NAME[/BEGIN]     any data set of the Hugging Face hub, or its files whose "
      "paths\n"
      "                             begin so\n"
      "Interrupted, the same command goes on.");
  add_import_flags(a);
  if (!a.parse(words)) return 0;
  a.require("what", "files, folders, or 'debian' and packages");
  a.require("output", "the folder to write");
  const std::string what = join(a.texts("what"), "\n") + "\n" + a.text("field") + "\n" +
                           a.text("separator") + "\n" + a.text("list") + "\n" +
                           std::to_string(a.count("max-shards"));
  data::Imported imported;
  if (!data::is_imported(what, a.text("output"), imported)) {
    Steps steps("looking for text");
    const SignalGuard guard(stop_importing, {SIGINT, SIGTERM, SIGUSR1});
    const auto show = [&](const data::ImportProgress& p) {
      steps.at(fmt::format("{}: {}, {} of text", p.part, counted(p.documents, "document"),
                           format_bytes(static_cast<double>(p.bytes))));
    };
    if (!data::import_parts(parts_of(a, steps), what, a.text("output"), import_stop, show,
                            imported)) {
      steps.say("interrupted; the same command goes on");
      return exit_code_of(import_signal);
    }
    if (!a.has("downloads")) fs::remove_all(downloads_of(a));  // a copy of what was imported
  }
  print_imported(imported);
  return 0;
}

}  // namespace pesuite::cli
