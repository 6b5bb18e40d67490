// What trackers are given: TensorBoard's files as protoc reads them, the W&B script under a stub of
// its module, MLflow's interface under a server that knows its documented fields.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <thread>

#ifdef PESUITE_HAS_HTTPLIB
#include <httplib.h>
#endif

#include "base/error.h"
#include "base/file.h"
#include "exports/follow.h"
#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

Json record(const std::string& cell, const std::string& encoding, const std::string& part,
            const std::string& metric, int step, double value) {
  Json coords = {{"train_len", 32}};
  if (part != "train") coords["eval_len"] = 64, coords["protocol"] = "non_overlapping";
  return {{"cell", cell},        {"encoding", {{"id", encoding}, {"expr", encoding + "()"}}},
          {"task", "toylag"},    {"task_expr", "toylag(document=512)"},
          {"model", "micro"},    {"seed", 7},
          {"suite", "s"},        {"backend", "cpu"},
          {"precision", "fp32"}, {"part", part},
          {"metric", metric},    {"split", part == "train" ? "train" : "ood"},
          {"value", value},      {"coords", coords},
          {"step", step},        {"tokens", 100 * step},
          {"status", "ok"},      {"ts", "2026-11-26T10:00:00Z"}};
}
std::vector<Session> sessions() {
  ExportedRun run{"20261126T100000Z-s-01234567", {}, {}};
  for (int step = 1; step <= 3; ++step)
    run.records.push_back(record("00000000000000aa", "rope", "train", "nll", step, 1.5 / step));
  run.records.push_back(record("00000000000000aa", "rope", "eval-1", "nll", 3, 0.25));
  for (int step = 3; step <= 4; ++step) {
    run.records.push_back(record("00000000000000bb", "rope -> none", "train", "nll", step, 0.5));
    run.records.back()["encoding"]["trunk"] = "rope()";
  }
  run.records.push_back(record("00000000000000bb", "rope -> none", "train", "acc", 4, 0));
  run.records.back()["value"] = nullptr;  // a number that is none
  run.records.back()["status"] = "nan";   // of this result alone
  return sessions_of({run});
}

TEST(Sessions, BranchesHaveTheCurveOfTheirTrunk) {
  const std::vector<Session> all = sessions();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "rope·toylag·micro·s7");
  EXPECT_EQ(all[1].status, "ok");
  EXPECT_EQ(all[0].begin, 1795687200.0);
  std::vector<std::int64_t> steps;
  for (const SessionPoint& p : all[1].points) steps.push_back(p.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(all[0].points.back().name, "length/nll/non_overlapping");
  EXPECT_EQ(all[0].points.back().length, 64);
}

// Bit by bit, as its definition says: reflected, 0x82F63B78.
std::uint32_t crc32c(const std::string& bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int k = 0; k < 8; ++k) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0);
  }
  return ~crc;
}
template <class T>
T number_at(const std::string& bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
std::vector<std::string> messages_of(const std::string& bytes) {
  const auto masked = [](const std::string& b) {
    const std::uint32_t crc = crc32c(b);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
  };
  std::vector<std::string> out;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto length = number_at<std::uint64_t>(bytes, at);
    EXPECT_EQ(number_at<std::uint32_t>(bytes, at + 8), masked(bytes.substr(at, 8)));
    out.push_back(bytes.substr(at + 12, length));
    EXPECT_EQ(number_at<std::uint32_t>(bytes, at + 12 + length), masked(out.back()));
    at += 16 + length;
  }
  return out;
}

TEST(TensorBoard, ItsFilesAreWhatProtocReads) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);  // the published check
  const Scratch folder;
  write_tensorboard(sessions(), folder / "tb");
  std::vector<fs::path> files;
  for (const auto& item : fs::recursive_directory_iterator(folder / "tb"))
    if (item.is_regular_file()) files.push_back(item.path());
  std::sort(files.begin(), files.end());
  ASSERT_EQ(files.size(), 4u);
  EXPECT_TRUE(files[0].filename().string().starts_with("events.out.tfevents.")) << files[0];
  std::erase_if(files,
                [](const fs::path& f) { return f.string().find("00aa/") == std::string::npos; });
  ASSERT_EQ(files.size(), 2u);
  if (find_program("protoc").empty()) GTEST_SKIP() << "protoc is not installed";
  std::string decoded[2];  // by steps, by tokens, of the first session
  for (int axis = 0; axis < 2; ++axis) {
    const std::vector<std::string> all =
        messages_of(read_file(files[static_cast<std::size_t>(axis)]));
    ASSERT_EQ(all.size(), 1 + 1 + 4 + 1u);
    for (const std::string& m : all) {
      std::ofstream(folder / "message", std::ios::binary) << m;
      const std::string command = fmt::format(
          "protoc --decode=tracker.Event -I '{0}' tracker_event.proto <'{1}' >'{2}' 2>&1",
          PESUITE_TEST_DIR "/exports", (folder / "message").string(), (folder / "text").string());
      ASSERT_EQ(std::system(command.c_str()), 0) << read_file(folder / "text");
      decoded[axis] += read_file(folder / "text");
    }
  }
  for (const char* wanted :
       {"file_version: \"brain.Event:2\"", "tag: \"train/nll\"", "simple_value: 1.5",
        "tag: \"length/nll/non_overlapping\"", "step: 64", "plugin_name: \"hparams\"",
        "string_value: \"toylag(document=512)\"", "number_value: 7", "status: 1"})
    EXPECT_NE(decoded[0].find(wanted), std::string::npos) << wanted << "\n" << decoded[0];
  EXPECT_NE(decoded[0].find("step: 3\n"), std::string::npos);
  EXPECT_NE(decoded[1].find("step: 300\n"), std::string::npos) << decoded[1];
}

// As it is while a run goes on: first the loss of a cell at work, then its records.
std::vector<Session> at_work(int steps) {
  ExportedRun run{"20261126T100000Z-s-01234567", {}, {}};
  for (int step = 1; step <= steps; ++step)
    run.live.push_back(record("00000000000000aa", "rope", "train", "nll", step, 1.5 / step));
  return sessions_of({run});
}

TEST(TensorBoard, ItsFilesGrow) {
  const Scratch folder;
  const std::unique_ptr<Follower> follower = follow_tensorboard(folder / "tb");
  const auto messages = [&] {
    std::vector<std::size_t> out;
    for (const auto& item : fs::recursive_directory_iterator(folder / "tb"))
      if (item.is_regular_file()) out.push_back(messages_of(read_file(item.path())).size());
    return out;
  };
  follower->send(at_work(1), false);
  EXPECT_EQ(messages(), (std::vector<std::size_t>{3, 3}));  // version, settings, a loss
  follower->send(at_work(2), false);
  follower->send(at_work(2), false);
  EXPECT_EQ(messages(), (std::vector<std::size_t>{4, 4}));
  follower->send(sessions(), true);  // the rest of its losses, its result, its end; and a branch
  std::vector<std::size_t> all = messages();
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (std::vector<std::size_t>{7, 7, 7, 7}));
  follower->send(sessions(), true);
  EXPECT_EQ(messages().size(), 4u);
  write_tensorboard(sessions(), folder / "tb");  // at once, in their place
  EXPECT_EQ(messages().size(), 4u);
}

TEST(TensorBoard, FiguresAreImages) {
  const Scratch folder;
  std::string png =
      "\x89PNG\r\n\x1a\n" + std::string("\0\0\0\rIHDR\0\0\2\x80\0\0\1\xe0", 16) + "rest";
  write_file_atomic(folder / "answer.png", png);
  write_file_atomic(folder / "answer.svg", "<svg/>");
  const RunFiles files{"r",
                       {{"figures/answer.png", folder / "answer.png"},
                        {"figures/answer.svg", folder / "answer.svg"}}};
  EXPECT_EQ(write_tensorboard_images(files, folder / "tb"), 1u);
  const std::string bytes = read_file(folder / "tb/r/figures/events.out.tfevents.0.pesuite");
  const std::vector<std::string> all = messages_of(bytes);
  ASSERT_EQ(all.size(), 2u);
  if (find_program("protoc").empty()) GTEST_SKIP() << "protoc is not installed";
  std::ofstream(folder / "message", std::ios::binary) << all[1];
  const std::string command = fmt::format(
      "protoc --decode=tracker.Event -I '{0}' tracker_event.proto <'{1}' >'{2}' 2>&1",
      PESUITE_TEST_DIR "/exports", (folder / "message").string(), (folder / "text").string());
  ASSERT_EQ(std::system(command.c_str()), 0) << read_file(folder / "text");
  const std::string text = read_file(folder / "text");
  for (const char* wanted : {"tag: \"answer\"", "height: 480", "width: 640", "colorspace: 3"})
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted << "\n" << text;
}

TEST(WandB, ItsScriptKeepsTheRulesOfTheModule) {
  if (find_program("python3").empty()) GTEST_SKIP() << "python3 is not installed";
  const Scratch folder;
  write_wandb(sessions(), folder / "wb");
  fs::copy(PESUITE_TEST_DIR "/exports/wandb_stub.py", folder / "wb/wandb.py");
  const std::string command = fmt::format(
      "WANDB_STUB_LOG='{0}/log' PYTHONDONTWRITEBYTECODE=1 python3 '{0}/wb/wandb_sync.py' "
      "--project mine >'{0}/said' 2>&1",
      folder.string());
  ASSERT_EQ(std::system(command.c_str()), 0) << read_file(folder / "said");
  std::vector<Json> said;
  std::ifstream in(folder / "log");
  for (std::string line; std::getline(in, line);) said.push_back(Json::parse(line));
  ASSERT_EQ(said.size(), 1 + 4 + 1 + 1 + 4 + 1u);
  EXPECT_EQ(said[0]["init"]["project"], "mine");
  EXPECT_EQ(said[0]["init"]["group"], "rope·toylag·micro");
  EXPECT_EQ(said[1]["row"], (Json{{"train/nll", 1.5}, {"step", 1}, {"tokens", 100}}));
  EXPECT_EQ(said[4]["row"], (Json{{"length/nll/non_overlapping", 0.25}, {"eval_len", 64}}));
  EXPECT_EQ(said[5]["finish"], 0);
}

#ifdef PESUITE_HAS_HTTPLIB
// MLflow's tracking server, as far as its documentation tells of the fields.
class Server {
 public:
  Server() {
    server_.Post("/api/2.0/mlflow/(.*)", [this](const httplib::Request& q, httplib::Response& a) {
      ++requests;
      if (failing-- > 0) {
        a.status = 503;
        return;
      }
      a.status = 200;
      a.set_content(answer(q.matches[1], Json::parse(q.body), a.status).dump(), "application/json");
    });
    server_.Put("/api/2.0/mlflow-artifacts/artifacts/(.*)",
                [this](const httplib::Request& q, httplib::Response& a) {
                  ++requests;
                  EXPECT_EQ(q.get_header_value("Content-Type"), "application/octet-stream");
                  files[q.matches[1]] = q.body;
                  a.set_content("{}", "application/json");
                });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ~Server() {
    server_.stop();
    thread_.join();
  }
  std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }

  std::atomic<int> requests = 0, failing = 0;
  int refuse_batch = 0;  // from this one on; 0: none
  std::map<std::string, Json> runs;
  std::size_t metrics = 0, batches = 0;
  std::string artifacts = "mlflow-artifacts:/12/";
  std::map<std::string, std::string> files;

 private:
  Json answer(const std::string& what, const Json& q, int& status) {
    const auto only = [&](std::set<std::string> known) {
      for (const auto& [key, value] : q.items()) EXPECT_TRUE(known.contains(key)) << what << key;
    };
    if (what == "experiments/create") {
      only({"name", "artifact_location", "tags"});
      if (made_) return refused(status, "RESOURCE_ALREADY_EXISTS");
      made_ = true;
      return {{"experiment_id", "12"}};
    }
    if (what == "experiments/search") {
      only({"max_results", "page_token", "filter", "order_by", "view_type"});
      return {{"experiments", {{{"experiment_id", "12"}, {"name", "pesuite"}}}}};
    }
    if (what == "runs/search") {
      only({"experiment_ids", "filter", "run_view_type", "max_results", "order_by", "page_token"});
      Json found = Json::array();
      for (const auto& [id, run] : runs)
        if (run["status"] == "FINISHED" && q["filter"].get<std::string>().find(
                                               run["cell"].get<std::string>()) != std::string::npos)
          found.push_back({{"info", {{"run_id", id}}}});
      return {{"runs", found}};
    }
    if (what == "runs/create") {
      only({"experiment_id", "user_id", "run_name", "start_time", "tags"});
      EXPECT_TRUE(q["experiment_id"].is_string() && q["start_time"].is_number_integer());
      const std::string id = fmt::format("run{}", runs.size());
      for (const Json& t : q["tags"])
        if (t["key"] == "pesuite.cell") runs[id]["cell"] = t["value"];
      runs[id]["status"] = "RUNNING";
      return {{"run",
               {{"info",
                 {{"run_id", id},
                  {"experiment_id", "12"},
                  {"artifact_uri", artifacts + id + "/artifacts"}}}}}};
    }
    if (what == "runs/log-batch") return log_batch(q, status, only);
    if (what == "runs/update") {
      only({"run_id", "status", "end_time", "run_name"});
      runs.at(q["run_id"])["status"] = q["status"];
      return {{"run_info", Json::object()}};
    }
    ADD_FAILURE() << "MLflow has no " << what;
    return refused(status, "ENDPOINT_NOT_FOUND");
  }
  template <class Only>
  Json log_batch(const Json& q, int& status, const Only& only) {
    only({"run_id", "metrics", "params", "tags"});
    EXPECT_LE(q["metrics"].size(), 1000u);
    EXPECT_LE(q.value("params", Json::array()).size(), 100u);
    if (refuse_batch > 0 && static_cast<int>(++batches) >= refuse_batch)
      return refused(status, "INVALID_PARAMETER_VALUE");
    for (const Json& m : q["metrics"]) {
      EXPECT_EQ(m.size(), 4u);
      EXPECT_TRUE(m["key"].is_string() && m["value"].is_number() &&
                  m["timestamp"].is_number_integer() && m["step"].is_number_integer());
    }
    metrics += q["metrics"].size();
    return Json::object();
  }
  static Json refused(int& status, const char* why) {
    status = 400;
    return {{"error_code", why}, {"message", "no"}};
  }
  httplib::Server server_;
  std::thread thread_;
  int port_ = 0;
  bool made_ = false;
};

MlflowOptions quick(const Server& s) {
  MlflowOptions o;
  o.url = s.url() + "/", o.pause = 0.01;
  return o;
}

TEST(Mlflow, GetsEachSessionOnce) {
  Server server;
  server.failing = 2;  // busy at first
  std::vector<Session> all = sessions();
  for (int i = 0; i < 2500; ++i) all[0].points.push_back({"train/lr", i, i, 0, 0.1});
  MlflowSent sent = send_to_mlflow(all, quick(server), curl_http(5));
  EXPECT_TRUE(sent.failures.empty()) << sent.failures[0];
  EXPECT_EQ(sent.sessions, 2u);
  EXPECT_EQ(server.metrics, all[0].points.size() + all[1].points.size());
  EXPECT_EQ(sent.metrics, server.metrics);
  sent = send_to_mlflow(all, quick(server), curl_http(5));
  EXPECT_EQ(sent.sessions, 0u);
  EXPECT_EQ(sent.before, 2u);
  EXPECT_EQ(server.runs.size(), 2u);
}

TEST(Mlflow, GetsReportsAsArtefacts) {
  Server server;
  const Scratch folder;
  write_file_atomic(folder / "report.html", "<p>page</p>");
  write_file_atomic(folder / "a·b.svg", "<svg/>");
  const std::vector<RunFiles> all = {
      {"run", {{"report.html", folder / "report.html"}, {"figures/a·b.svg", folder / "a·b.svg"}}}};
  MlflowSent sent = send_files_to_mlflow(all, quick(server), curl_http(5));
  EXPECT_TRUE(sent.failures.empty()) << sent.failures[0];
  EXPECT_EQ(sent.files, 2u);
  EXPECT_EQ(server.files["12/run0/artifacts/report.html"], "<p>page</p>");
  EXPECT_EQ(server.files["12/run0/artifacts/figures/a·b.svg"], "<svg/>");
  sent = send_files_to_mlflow(all, quick(server), curl_http(5));
  EXPECT_EQ(sent.before, 1u);
  Server elsewhere;
  elsewhere.artifacts = "s3://bucket/";
  sent = send_files_to_mlflow(all, quick(elsewhere), curl_http(5));
  ASSERT_EQ(sent.failures.size(), 1u);
  EXPECT_NE(sent.failures[0].find("--serve-artifacts"), std::string::npos) << sent.failures[0];
}

TEST(Mlflow, HearsOfARunWhileItGoesOn) {
  Server server;
  MlflowOptions o = quick(server);
  o.tries = 1;
  const std::unique_ptr<Follower> follower = follow_mlflow(o, curl_http(5));
  server.failing = 1;
  EXPECT_EQ(follower->send(at_work(1), false).size(), 1u) << "told, and tried again";
  EXPECT_TRUE(follower->send(at_work(2), false).empty());
  EXPECT_EQ(server.metrics, 2u);
  EXPECT_EQ(server.runs.at("run0")["status"], "RUNNING");
  EXPECT_TRUE(follower->send(sessions(), true).empty());
  EXPECT_EQ(server.metrics, sessions()[0].points.size() + sessions()[1].points.size());
  for (const auto& [id, run] : server.runs) EXPECT_EQ(run["status"], "FINISHED") << id;
  EXPECT_EQ(server.runs.size(), 2u);
}

TEST(Mlflow, SaysHowFarItCame) {
  Server server;
  server.refuse_batch = 3;  // parameters, then metrics
  std::vector<Session> all = sessions();
  for (int i = 0; i < 2500; ++i) all[0].points.push_back({"train/lr", i, i, 0, 0.1});
  const MlflowSent sent = send_to_mlflow(all, quick(server), curl_http(5));
  ASSERT_EQ(sent.failures.size(), 2u);  // and goes on with the next
  EXPECT_NE(sent.failures[0].find("1000 of 2504 metrics are there"), std::string::npos)
      << sent.failures[0];
  EXPECT_NE(sent.failures[0].find("INVALID_PARAMETER_VALUE"), std::string::npos);
}
#endif

TEST(Mlflow, NobodyThereIsASentence) {
  MlflowOptions o;
  o.url = "http://127.0.0.1:9", o.tries = 2, o.pause = 0.01;
  const MlflowSent sent = send_to_mlflow(sessions(), o, curl_http(2));
  ASSERT_EQ(sent.failures.size(), 1u);
  EXPECT_EQ(sent.requests, 2u);
  EXPECT_NE(sent.failures[0].find("127.0.0.1"), std::string::npos) << sent.failures[0];
}

TEST(Mlflow, WhatIsSpooledComesBack) {
  const Scratch folder;
  const std::vector<Session> all = sessions();
  write_file_atomic(folder / "spool", spool_of(all));
  EXPECT_EQ(spool_of(read_spool(folder / "spool")), spool_of(all));
  write_file_atomic(folder / "other", "{}\n");
  EXPECT_THROW(read_spool(folder / "other"), Error);
}

}  // namespace
}  // namespace pesuite::testing
