// import: what a bundle holds, or results of other programs, as a run.
#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "bundle/bundle.h"
#include "bundle/foreign.h"
#include "bundle/foreign_table.h"
#include "cell/record.h"
#include "cli/arguments.h"
#include "cli/steps.h"

namespace pesuite::cli {

namespace {

// "a=b, c=d" of each text.
std::vector<std::pair<std::string, std::string>> pairs_of(const Arguments& a,
                                                          const std::string& flag) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& text : a.texts(flag))
    for (const std::string& pair : split(text, ',')) {
      const std::size_t equals = pair.find('=');
      if (equals == std::string::npos || trim(pair.substr(0, equals)).empty())
        fail(Exit::usage, "--{} '{}': write NAME=..., several with commas between them", flag,
             text);
      out.emplace_back(trim(pair.substr(0, equals)), trim(pair.substr(equals + 1)));
    }
  return out;
}

// The records of a table as a new run, with where they are from.
int import_results(const Arguments& a, const fs::path& file) {
  ForeignOptions o;
  o.columns = pairs_of(a, "columns"), o.where = pairs_of(a, "where");
  for (const auto& [what, value] : pairs_of(a, "constant")) o.constants[what] = value;
  o.suite = file_name_of(a.text("as", file.stem().string()));
  const fs::path run = fs::path(a.folder("out")) / "runs" / o.suite;
  if (fs::exists(run))
    fail(Exit::usage, "{} is there already; name another run by --as", run.string());
  const std::string digest = sha256_file(file);
  if (a.has("sha256") && a.text("sha256") != digest)
    fail(Exit::data, "the SHA-256 of {} is {}, not {}", file.string(), digest, a.text("sha256"));
  const ForeignResults results = foreign_results(file, o);
  std::string lines;
  std::set<std::string> encodings, trainings;
  for (const Json& j : results.records) {
    lines += j.dump() + "\n";
    encodings.insert(j["encoding"]["id"].get<std::string>());
    trainings.insert(j["cell"].get<std::string>());
  }
  fs::create_directories(run);
  write_file_atomic(
      run / "source.json",
      Json{{"file", file.filename().string()}, {"sha256", digest}, {"notes", results.notes}}.dump(
          2) +
          "\n");
  write_file_atomic(run / "records.jsonl", lines);
  seal_run(run);
  for (const std::string& note : results.notes) fmt::print(stderr, "{}\n", note);
  fmt::print("{}\n", run.string());
  fmt::print(stderr, "{} of {} and {}; 'pesuite report {}' makes a page of them\n",
             counted(results.records.size(), "number"), counted(trainings.size(), "training"),
             counted(encodings.size(), "encoding"), run.string());
  return 0;
}

int import_run(const Arguments& a) {
  ImportOptions options;
  options.name = a.text("as"), options.digest = a.text("sha256");
  double most = 0;
  if (!parse_count(a.text("max-size"), most) || most < 1 || most > 1e18)
    fail(Exit::usage, "--max-size is '{}'; write a number of bytes, e.g. 500M or 16G",
         a.text("max-size"));
  options.most_bytes = static_cast<std::uint64_t>(most);
  const Steps steps("unpacking " + a.text("file"));
  const BundleSummary b = import_bundle(a.text("file"), a.folder("out"), options);
  fmt::print("{}\n", b.at.string());
  fmt::print(stderr, "{} with {}; {}\n", counted(b.files, "file"),
             format_bytes(static_cast<double>(b.bytes)),
             b.was_there ? "the same run was there already" : "every digest is right");
  return 0;
}

}  // namespace

int import_verb(const std::vector<std::string>& words) {
  Arguments a(
      "import FILE [flags]",
      "Unpacks what 'pesuite bundle' packed into OUT/runs and OUT/store. A damaged bundle, "
      "links, names that lead\noutside, and more than --max-size are refused (exit code 5); "
      "then nothing of it stays. Nothing is overwritten.\nOr makes a run of results of other "
      "programs: a .csv, .tsv, .json or .jsonl with a row for each training or\nevaluation; "
      "columns are found by their usual names, as encoding, seed, train_len, eval_len, loss.");
  a.flags()("out", po::value<std::string>()->default_value("results"), "folder of the results")(
      "as", po::value<std::string>(), "name of the run's folder instead of the file's own")(
      "sha256", po::value<std::string>(), "digest that the file must have, as bundle printed it")(
      "max-size", po::value<std::string>()->default_value("16G"),
      "most bytes that a bundle may unpack to, e.g. 500M")(
      "columns", po::value<std::vector<std::string>>()->composing(),
      "of results: what stands in which column, e.g. 'encoding=pe, acc=test_acc_*'; the star "
      "stands for the length")("constant", po::value<std::vector<std::string>>()->composing(),
                               "of results: what is the same in all rows, e.g. 'train_len=64'")(
      "where", po::value<std::vector<std::string>>()->composing(),
      "of results: rows with this alone, e.g. 'state=finished'");
  a.positional("file");
  if (!a.parse(words)) return 0;
  a.require("file", "the bundle, or the table of results");
  const fs::path file = a.text("file");
  return is_foreign_table(file) ? import_results(a, file) : import_run(a);
}

}  // namespace pesuite::cli
