// The published JSON schemas: what the program writes agrees with them, what is broken does not,
// and the schema of suites knows the keys that the program knows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "base/file.h"
#include "base/text.h"
#include "cell/schema.h"
#include "suite/config.h"
#include "suite/suite.h"
#include "tests/cli/command.h"

namespace pesuite::testing {
namespace {

using Plain = nlohmann::json;  // valijson knows no ordered objects

Plain load(const fs::path& path) {
  return Plain::parse(read_file(path));
}
Plain load_schema(const std::string& name) {
  return load(fs::path(PESUITE_TEST_DIR) / "../core/schemas" / name);
}

class Schema {
 public:
  explicit Schema(const std::string& name) : json_(load_schema(name)) {
    valijson::SchemaParser().populateSchema<Adapter>(
        Adapter(json_), schema_, [](const std::string& uri) { return new Plain(load_schema(uri)); },
        [](const Plain* fetched) { delete fetched; });
  }

  // One line a problem, "" when there is none.
  std::string problems(const Plain& value) const {
    valijson::ValidationResults results;
    valijson::Validator().validate(schema_, Adapter(value), &results);
    std::string text;
    for (const auto& error : results)
      text += join(error.context, "") + ": " + error.description + "\n";
    return text;
  }

 private:
  using Adapter = valijson::adapters::NlohmannJsonAdapter;
  Plain json_;
  valijson::Schema schema_;
};

std::vector<Plain> load_records(const fs::path& path) {
  std::vector<Plain> records;
  for (const std::string& line : split(trim(read_file(path)), '\n'))
    records.push_back(Plain::parse(line));
  return records;
}

// 'pesuite docs .' writes them.
TEST(Schemas, SayWhatTheListsOfFieldsSay) {
  for (const std::string& name : made_schemas()) {
    const Json schema =
        Json::parse(read_file(fs::path(PESUITE_TEST_DIR) / "../core/schemas" / name));
    EXPECT_EQ(made_schema(name, schema), schema) << name;
    EXPECT_EQ(Json::parse(schema_text(schema)), schema) << name;
  }
}

TEST(RecordSchema, AcceptsEveryKindOfRecord) {
  const Schema schema("record.schema.json");
  for (const Plain& record : load_records(PESUITE_TEST_DIR "/report/records.jsonl"))
    EXPECT_EQ(schema.problems(record), "") << record;
}

TEST(RecordSchema, AcceptsWhatIsImported) {
  const Scratch folder;
  std::ofstream(folder / "x.csv") << "encoding,seed,train_len,eval_len,loss,ppl,train_loss\n"
                                     "rope,1,64,128,inf,,\nrope,2,64,64,2,7.4,\nrope,3,64,64,,,3\n";
  const Ended e =
      Command(folder, {"import", "x.csv", "--columns", "nll=loss, train_loss=train_loss"}).wait();
  ASSERT_EQ(e.code, 0) << e.err;
  const Schema schema("record.schema.json");
  const std::vector<Plain> records = load_records(folder / "results/runs/x/records.jsonl");
  EXPECT_EQ(records.size(), 3u);
  for (const Plain& record : records) EXPECT_EQ(schema.problems(record), "") << record;
}

TEST(RecordSchema, RefusesBrokenRecords) {
  const Schema schema("record.schema.json");
  const Plain good = load_records(PESUITE_TEST_DIR "/report/records.jsonl").front();
  const Plain required = load_schema("record.schema.json").at("required");
  for (const auto& key : required) {
    Plain broken = good;
    broken.erase(key.get<std::string>());
    EXPECT_NE(schema.problems(broken), "") << "without " << key;
  }
  const std::pair<const char*, Plain> changes[] = {{"/schema", "pesuite.record/2"},
                                                   {"/cell", "c5cd909b8188270"},
                                                   {"/part", "test"},
                                                   {"/seed", -1},
                                                   {"/seed", "42"},
                                                   {"/backend", "gpu"},
                                                   {"/direction", "down"},
                                                   {"/split", "test"},
                                                   {"/value", nullptr},
                                                   {"/value", "NaN"},
                                                   {"/status", "nan"},
                                                   {"/status", "fine"},
                                                   {"/step", 1.5},
                                                   {"/tokens", -1},
                                                   {"/n", 0},
                                                   {"/path", "slow"},
                                                   {"/ts", "yesterday"},
                                                   {"/perplexity", 3.0},
                                                   {"/encoding/plugins", Plain::array()},
                                                   {"/encoding/plugins/0/build", "sha256:"},
                                                   {"/coords/train_len", 0},
                                                   {"/coords/window", {1, 2}},
                                                   {"/coords/protocol", "sliding"}};
  for (const auto& [pointer, value] : changes) {
    Plain broken = good;
    broken[Plain::json_pointer(pointer)] = value;
    EXPECT_NE(schema.problems(broken), "") << pointer << " = " << value;
  }
}

// A corpus, a task with an axis, a training that diverges and an encoding that cannot go on.
constexpr const char* tiny_suite = R"toml(
name = "tiny"
defaults = {seeds = [1]}
model = {micro = {}}
train = {budget = "12 steps", batch = 2, validation_examples = 2}
encoding = [{expr = "none"}, {expr = "learned(rows=8)"}]
[[task]]
task = "toylag"
options = {document = 64}
train_len = 8
train.lengths = {kind = "growing", min = 4, over = "50%"}
train.mix = [{task = "flipflop", share = 0.25}, {task = "toylag(document=128)", share = 0.25, alphabet = "same"}]
[[task]]
task = "shift_pattern"
train_len = 16
train = {lr = 100, optimizer = {weight_decay = 100}, schedule = {kind = "constant", warmup = 0}}
[[eval]]
lengths = ["1x", "2x"]
protocol = ["non_overlapping", "sliding(4)", "last(4)"]
examples = 4
[[hypothesis]]
expect = "nll(none, 2x, task=toylag) < 9"
[[hypothesis]]
expect = "nll(none, 2x, task=toylag) < nll('learned(rows=8)', 2x, task=toylag)"
)toml";

TEST(Schemas, AgreeWithTheFilesOfARun) {
  const Scratch folder;
  write_file_atomic(folder / "tiny.toml", tiny_suite);
  const Ended run = Command(folder, {"run", "tiny.toml", "--out", "out"}).wait();
  EXPECT_EQ(run.code, static_cast<int>(Exit::cells_failed))
      << run.err;  // longer than the table of 8
  const fs::path results = fs::directory_iterator(folder / "out/runs")->path();

  const Schema record("record.schema.json");
  std::set<std::string> statuses, parts;
  for (const Plain& r : load_records(results / "records.jsonl")) {
    EXPECT_EQ(record.problems(r), "") << r;
    statuses.insert(r.at("status"));
    parts.insert(r.at("part").get<std::string>().substr(0, 4));
  }
  EXPECT_THAT(statuses, ::testing::IsSupersetOf({"ok", "diverged"}));
  EXPECT_THAT(parts, ::testing::ElementsAre("eval", "fail", "trai"));

  const Plain verdicts = load(results / "hypotheses.json");
  EXPECT_EQ(Schema("hypotheses.schema.json").problems(verdicts), "") << verdicts;
  EXPECT_EQ(verdicts.at("hypotheses").size(), 2u);

  EXPECT_EQ(Schema("env.schema.json").problems(load(results / "env.json")), "");
  const Schema plan("plan.schema.json");
  Plain planned = load(results / "plan.json");
  EXPECT_EQ(plan.problems(planned), "");
  EXPECT_EQ(Schema("cell.schema.json").problems(planned["cells"][0]["config"]), "");
  EXPECT_EQ(planned["cells"][0]["config"]["mix"].size(), 2u);
  EXPECT_EQ(planned["cells"][0]["family"], "language");
  planned["cells"][0]["config"]["model"]["width"] = 0;
  EXPECT_NE(plan.problems(planned), "") << "the plan's schema reaches into its cells";

  const Ended saved = Command(folder, {"baseline", "save", "b", results.string()}).wait();
  EXPECT_EQ(saved.code, 0) << saved.err;
  Plain baseline = load(folder / "baselines/b.json");
  EXPECT_EQ(Schema("baseline.schema.json").problems(baseline), "") << baseline;
  baseline["series"][0]["values"]["1"] = "much";
  EXPECT_NE(Schema("baseline.schema.json").problems(baseline), "");

  Command(folder, {"run", "tiny.toml", "--out", "other", "--no-report", "--set",
                   "train.optimizer.lr=0.02", "--seeds", "1"})
      .wait();
  const fs::path other = fs::directory_iterator(folder / "other/runs")->path();
  const Schema comparison("comparison.schema.json");
  for (const std::vector<std::string>& more : {std::vector<std::string>{results.string()},
                                               {other.string()},
                                               {other.string(), "--by", "encoding"}}) {
    std::vector<std::string> words = {"compare", "b", "--json"};
    words.insert(words.begin() + 2, more.begin(), more.end());
    const Ended compared = Command(folder, words).wait();
    EXPECT_EQ(compared.code, 0) << compared.err;
    Plain j = Plain::parse(compared.out);
    EXPECT_EQ(comparison.problems(j), "") << j;
    EXPECT_FALSE(j.at("series").empty());
    j["series"][0]["verdict"] = "good";
    EXPECT_NE(comparison.problems(j), "");
  }
}

Plain suite_json(const fs::path& file) {
  Problems problems;
  const Plain root = Config::from_toml(file, problems).root();
  problems.throw_if_any();
  return root;
}

TEST(SuiteSchema, AcceptsTheSuitesThatAreShipped) {
  const Schema schema("suite.schema.json");
  for (const auto& item : fs::recursive_directory_iterator(PESUITE_TEST_DIR "/../suites"))
    if (item.path().extension() == ".toml") {
      EXPECT_EQ(schema.problems(suite_json(item.path())), "") << item.path();
    }
}

// Calls found(path) for every key that the schema of suites has, where tables with names and
// elements of arrays are called "one".
void walk(const Plain& root, Plain node, const std::string& path,
          const std::function<void(const std::string&)>& found) {
  if (node.contains("$ref"))
    node = root.at(Plain::json_pointer(node.at("$ref").get<std::string>().substr(1)));
  const Plain choices = node.value("oneOf", Plain::array()),
              properties = node.value("properties", Plain::object());
  for (const Plain& choice : choices) walk(root, choice, path, found);
  for (const char* children : {"items", "additionalProperties"})
    if (node.contains(children) && node.at(children).is_object())
      walk(root, node.at(children), path + ".one", found);
  for (const auto& [key, child] : properties.items()) {
    const std::string name = path.empty() ? key : path + "." + key;
    found(name);
    walk(root, child, name, found);
  }
}

TEST(SuiteSchema, OffersOnlyKeysThatTheProgramKnows) {
  const Scratch folder;
  const fs::path file = folder / "s.toml";
  write_file_atomic(file, R"(
model = {one = {preset = "micro"}}
encoding = [{id = "one", expr = "none"}]
task = [{id = "one", task = "toylag"}]
eval = [{task = "one"}]
hypothesis = [{id = "one", expect = "nll(one) < 9"}]
)");
  const Plain schema = load_schema("suite.schema.json");
  int keys = 0;
  walk(schema, schema, "", [&](const std::string& path) {
    if (path.starts_with("profile")) return;  // no suite without it once it is laid over
    ++keys;
    try {
      SuiteChoices choices;
      choices.set = {path + "=0"};
      load_suite(file, choices);
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), ::testing::Not(::testing::HasSubstr("unknown key"))) << path;
    }
  });
  EXPECT_GT(keys, 60);
}

TEST(SuiteSchema, KnowsEveryKeyThatTheProgramReads) {
  const Plain schema = load_schema("suite.schema.json");
  std::set<std::string> known;
  walk(schema, schema, "",
       [&](const std::string& path) { known.insert(path.substr(path.rfind('.') + 1)); });
  const fs::path folder = fs::path(PESUITE_TEST_DIR) / "../core/suite";
  std::string source;
  for (const char* file :
       {"suite", "read_train", "read_model", "read_task", "read_eval", "hypothesis", "gate"})
    source += read_file(folder / (std::string(file) + ".cpp"));
  const std::regex read(
      R"re((?:\b\w\.(?:text|flag|integer|number|choice|table|named_table|find|has)s?|positive|read_\w+)\((?:\w, )?"(\w+)")re");
  int keys = 0;
  for (std::sregex_iterator it(source.begin(), source.end(), read), end; it != end; ++it, ++keys)
    EXPECT_TRUE(known.contains((*it)[1])) << "suite.schema.json lacks '" << (*it)[1] << "'";
  EXPECT_GT(keys, 35);
}

}  // namespace
}  // namespace pesuite::testing
