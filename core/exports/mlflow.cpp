#include "exports/mlflow.h"

#ifdef PESUITE_HAS_CURL
#include <curl/curl.h>
#endif

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <set>
#include <thread>
#include <tuple>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "exports/follow.h"

namespace pesuite {

namespace {

// Limits of log-batch, as documented.
constexpr std::size_t most_metrics = 1000, most_params = 100, longest_param = 6000;

// A failure of one session, which ends nothing else.
struct Unsent {
  std::string why;
};

// Names may have letters, digits, "_", "-", ".", " " and "/".
std::string mlflow_name(const std::string& name) {
  std::string out;
  for (const char c : name)
    out += std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                   std::string_view("_-. /").find(c) != std::string_view::npos
               ? c
               : '-';
  return out;
}
std::int64_t milliseconds(double seconds) {
  return static_cast<std::int64_t>(std::llround(1e3 * seconds));
}
std::string setting_text(const Json& j) {
  return (j.is_string() ? j.get<std::string>() : j.dump()).substr(0, longest_param);
}

class Client {
 public:
  Client(const MlflowOptions& o, const Http& http, MlflowSent& sent)
      : options_(o), http_(http), sent_(sent) {}

  Json post(const std::string& what, const Json& body) {
    return request("POST", "mlflow/" + what, body.dump());
  }
  Json request(const std::string& method, const std::string& what, const std::string& body) {
    const std::string url = base() + what;
    double pause = options_.pause;
    for (int n = 1;; ++n) {
      ++sent_.requests;
      const HttpAnswer a = http_(method, url, body);
      if (a.code == 200) return Json::parse(a.text.empty() ? "{}" : a.text, nullptr, false);
      const bool passes = a.code == 0 || a.code == 429 || a.code >= 500;
      if (!passes || n >= options_.tries) throw Unsent{fmt::format("{}: {}", what, said(a))};
      std::this_thread::sleep_for(std::chrono::duration<double>(pause));
      pause *= 2;
    }
  }
  // Of the experiment, made where it is not there.
  std::string collection() {
    try {
      return post("experiments/create", {{"name", options_.collection}}).at("experiment_id");
    } catch (const Unsent& e) {
      if (e.why.find("RESOURCE_ALREADY_EXISTS") == std::string::npos) throw;
    }
    const Json found =
        post("experiments/search", {{"max_results", 1},
                                    {"view_type", "ACTIVE_ONLY"},
                                    {"filter", fmt::format("name = '{}'", options_.collection)}});
    if (!found.contains("experiments") || found["experiments"].empty())
      throw Unsent{fmt::format("experiment '{}' is there, but deleted", options_.collection)};
    return found["experiments"][0].at("experiment_id");
  }

 private:
  std::string base() const {
    std::string url = options_.url;
    while (url.ends_with('/')) url.pop_back();
    return url + "/api/2.0/";
  }
  static std::string said(const HttpAnswer& a) {
    if (a.code == 0) return a.text;
    const Json j = Json::parse(a.text, nullptr, false);
    if (j.is_object() && j.contains("error_code"))
      return fmt::format("{} {}: {}", a.code, setting_text(j["error_code"]),
                         setting_text(j.value("message", Json(""))));
    return fmt::format("{} {}", a.code, printable(a.text.substr(0, 200)));
  }

  const MlflowOptions& options_;
  const Http& http_;
  MlflowSent& sent_;
};

bool has_run(Client& client, const std::string& collection, const Session& s) {
  const Json found =
      client.post("runs/search", {{"experiment_ids", {collection}},
                                  {"max_results", 1},
                                  {"filter", fmt::format("tags.`pesuite.cell` = '{}' and "
                                                         "attributes.status = 'FINISHED'",
                                                         s.cell)}});
  return found.contains("runs") && !found["runs"].empty();
}

// Of a metric at one step MLflow wants a time.
Json metric_json(const SessionPoint& p, double time) {
  return {{"key", mlflow_name(p.name)},
          {"value", p.value},
          {"timestamp", milliseconds(time)},
          {"step", p.length > 0 ? p.length : p.step}};
}

Json run_made(Client& client, const std::string& collection, const Session& s) {
  Json tags = Json::array();
  for (const auto& [key, value] : std::map<std::string, std::string>{{"mlflow.runName", s.name},
                                                                     {"pesuite.cell", s.cell},
                                                                     {"pesuite.series", s.series},
                                                                     {"pesuite.run", s.run}})
    tags.push_back({{"key", key}, {"value", value}});
  const Json made = client.post("runs/create", {{"experiment_id", collection},
                                                {"run_name", s.name},
                                                {"start_time", milliseconds(s.begin)},
                                                {"tags", tags}});
  return made;
}
// The run of a session, without metrics. Its id.
std::string begin_run(Client& client, const std::string& collection, const Session& s) {
  const std::string id = run_made(client, collection, s).at("run").at("info").at("run_id");
  Json params = Json::array();
  for (const auto& [key, value] : s.settings)
    if (params.size() < most_params)
      params.push_back({{"key", mlflow_name(key)}, {"value", setting_text(value)}});
  client.post("runs/log-batch", {{"run_id", id}, {"metrics", Json::array()}, {"params", params}});
  return id;
}
// `logged(p)` hears of each point that is there.
template <class F>
void log_points(Client& client, const std::string& id, const Session& s,
                const std::vector<const SessionPoint*>& points, F logged) {
  for (std::size_t done = 0; done < points.size();) {
    Json metrics = Json::array();
    const std::size_t end = std::min(done + most_metrics, points.size());
    for (std::size_t i = done; i < end; ++i) metrics.push_back(metric_json(*points[i], s.begin));
    try {
      client.post("runs/log-batch", {{"run_id", id}, {"metrics", metrics}});
    } catch (const Unsent& e) {
      throw Unsent{fmt::format("{}; {} of {} metrics are there", e.why, done, points.size())};
    }
    for (; done < end; ++done) logged(*points[done]);
  }
}
void end_run(Client& client, const std::string& id, const Session& s) {
  const bool good = s.status == "ok" || s.status == "diverged";
  client.post("runs/update", {{"run_id", id},
                              {"status", s.at_work ? "KILLED"
                                         : good    ? "FINISHED"
                                                   : "FAILED"},
                              {"end_time", milliseconds(s.end)}});
}
void send_session(Client& client, const std::string& collection, const Session& s,
                  MlflowSent& sent) {
  const std::string id = begin_run(client, collection, s);
  std::vector<const SessionPoint*> points;
  for (const SessionPoint& p : s.points) points.push_back(&p);
  log_points(client, id, s, points, [&](const SessionPoint&) { ++sent.metrics; });
  end_run(client, id, s);
  ++sent.sessions;
}

// As a part of an address.
std::string escaped(const std::string& path) {
  std::string out;
  for (const char c : path)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 ||
        std::string_view("_-./").find(c) != std::string_view::npos)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return out;
}

void send_files(Client& client, const std::string& collection, const RunFiles& r,
                MlflowSent& sent) {
  Session s;
  s.run = r.run, s.cell = "report of " + r.run, s.name = "report of " + r.run;
  if (has_run(client, collection, s)) {
    ++sent.before;
    return;
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  s.begin = s.end = std::chrono::duration<double>(now).count(), s.status = "ok";
  const Json info = run_made(client, collection, s).at("run").at("info");
  const std::string at = info.value("artifact_uri", ""), scheme = "mlflow-artifacts:";
  if (!at.starts_with(scheme))
    throw Unsent{fmt::format(
        "the server keeps artefacts at '{}' and does not hand them on; one with --serve-artifacts "
        "does",
        printable(at))};
  std::string folder = at.substr(scheme.size());
  if (folder.starts_with("//")) folder = folder.substr(folder.find('/', 2));
  for (const auto& [name, file] : r.files) {
    client.request("PUT", "mlflow-artifacts/artifacts" + folder + "/" + escaped(name),
                   read_file(file));
    ++sent.files;
  }
  end_run(client, info.at("run_id"), s);
}

class MlflowFollower : public Follower {
 public:
  MlflowFollower(const MlflowOptions& o, const Http& http)
      : options_(o), http_(http), client_(options_, http_, sent_) {}

  std::vector<std::string> send(const std::vector<Session>& sessions, bool over) override {
    std::vector<std::string> failures;
    try {
      if (collection_.empty()) collection_ = client_.collection();
    } catch (const Unsent& e) {
      return {fmt::format("{}: {}", options_.url, e.why)};
    } catch (const Json::exception&) {
      return {fmt::format("{}: its answers are not MLflow's", options_.url)};
    }
    for (const Session& s : sessions) try {
        follow(s, over);
      } catch (const Unsent& e) {
        failures.push_back(fmt::format("{}: {}", s.name, e.why));
        if (!over) break;  // not a wait for each of them
      } catch (const Json::exception&) {
        failures.push_back(fmt::format("{}: an answer is not MLflow's", s.name));
      }
    return failures;
  }

 private:
  struct Open {
    std::string id;
    std::set<std::tuple<std::string, std::int64_t, int>> points;
    bool ended = false;
  };

  void follow(const Session& s, bool over) {
    Open& run = open_[s.run + "/" + s.cell];
    if (run.ended) return;
    if (run.id.empty()) {
      run.ended = has_run(client_, collection_, s);
      if (run.ended) return;
      run.id = begin_run(client_, collection_, s);
    }
    const auto key = [](const SessionPoint& p) { return std::tuple(p.name, p.step, p.length); };
    std::vector<const SessionPoint*> points;
    for (const SessionPoint& p : s.points)
      if (!run.points.contains(key(p))) points.push_back(&p);
    log_points(client_, run.id, s, points,
               [&](const SessionPoint& p) { run.points.insert(key(p)); });
    if (s.at_work && !over) return;
    end_run(client_, run.id, s);
    run.ended = true;
  }

  const MlflowOptions options_;
  const Http http_;
  MlflowSent sent_;
  Client client_;
  std::string collection_;
  std::map<std::string, Open> open_;
};

}  // namespace

MlflowSent send_to_mlflow(const std::vector<Session>& sessions, const MlflowOptions& o,
                          const Http& http) {
  MlflowSent sent;
  Client client(o, http, sent);
  try {
    const std::string collection = client.collection();
    for (const Session& s : sessions) {
      try {
        if (has_run(client, collection, s))
          ++sent.before;
        else
          send_session(client, collection, s, sent);
      } catch (const Unsent& e) {
        sent.failures.push_back(fmt::format("{}: {}", s.name, e.why));
      } catch (const Json::exception&) {
        sent.failures.push_back(fmt::format("{}: an answer is not MLflow's", s.name));
      }
    }
  } catch (const Unsent& e) {
    sent.failures.push_back(fmt::format("{}: {}", o.url, e.why));
  } catch (const Json::exception&) {
    sent.failures.push_back(fmt::format("{}: its answers are not MLflow's", o.url));
  }
  return sent;
}

MlflowSent send_files_to_mlflow(const std::vector<RunFiles>& all, const MlflowOptions& o,
                                const Http& http) {
  MlflowSent sent;
  Client client(o, http, sent);
  for (const RunFiles& r : all) try {
      send_files(client, client.collection(), r, sent);
    } catch (const Unsent& e) {
      sent.failures.push_back(fmt::format("the report of {}: {}", r.run, e.why));
    } catch (const Json::exception&) {
      sent.failures.push_back(fmt::format("the report of {}: an answer is not MLflow's", r.run));
    }
  return sent;
}

std::unique_ptr<Follower> follow_mlflow(const MlflowOptions& o, const Http& http) {
  return std::make_unique<MlflowFollower>(o, http);
}

#ifdef PESUITE_HAS_CURL
Http curl_http(double seconds) {
  return [seconds](const std::string& method, const std::string& url, const std::string& body) {
    const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                   curl_easy_cleanup);
    HttpAnswer answer;
    if (curl == nullptr) return HttpAnswer{0, "libcurl does not start"};
    CURL* const c = curl.get();
    char said[CURL_ERROR_SIZE] = "";
    const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(
        curl_slist_append(nullptr, method == "PUT" ? "Content-Type: application/octet-stream"
                                                   : "Content-Type: application/json"),
        curl_slist_free_all);
    curl_easy_setopt(c, CURLOPT_URL, url.c_str());
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method.c_str());
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, body.c_str());
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(c, CURLOPT_USERAGENT, "pesuite");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(1e3 * seconds));
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, static_cast<long>(1e3 * seconds));
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, said);
    // a server that wants a name or token has them in the environment, as for MLflow's own client
    if (const char* const token = std::getenv("MLFLOW_TRACKING_TOKEN"); token != nullptr) {
      curl_easy_setopt(c, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
      curl_easy_setopt(c, CURLOPT_XOAUTH2_BEARER, token);
    } else if (const char* const user = std::getenv("MLFLOW_TRACKING_USERNAME"); user != nullptr) {
      const char* const password = std::getenv("MLFLOW_TRACKING_PASSWORD");
      curl_easy_setopt(c, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
      curl_easy_setopt(c, CURLOPT_USERNAME, user);
      curl_easy_setopt(c, CURLOPT_PASSWORD, password == nullptr ? "" : password);
    }
    curl_easy_setopt(
        c, CURLOPT_WRITEFUNCTION, +[](char* data, std::size_t, std::size_t n, void* to) {
          static_cast<std::string*>(to)->append(data, n);
          return n;
        });
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &answer.text);
    if (const CURLcode result = curl_easy_perform(c); result != CURLE_OK)
      return HttpAnswer{0, *said != 0 ? said : curl_easy_strerror(result)};
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &answer.code);
    return answer;
  };
}
#else
Http curl_http(double) {
  return [](const std::string&, const std::string&, const std::string&) -> HttpAnswer {
    fail(Exit::usage,
         "this build has no libcurl, by which MLflow is reached; --offline writes a file for one "
         "that has it");
  };
}
#endif

std::string spool_of(const std::vector<Session>& sessions) {
  std::string out;
  for (const Session& s : sessions) {
    Json points = Json::array();
    for (const SessionPoint& p : s.points)
      points.push_back({p.name, p.step, p.tokens, p.length, p.value});
    out += Json{{"schema", "pesuite.session/1"},
                {"run", s.run},
                {"cell", s.cell},
                {"name", s.name},
                {"series", s.series},
                {"status", s.status},
                {"begin", s.begin},
                {"end", s.end},
                {"settings", s.settings},
                {"points", points}}
               .dump() +
           "\n";
  }
  return out;
}

std::vector<Session> read_spool(const fs::path& file) {
  std::vector<Session> out;
  std::size_t number = 0;
  for (const std::string& line : split(read_file(file), '\n')) {
    ++number;
    if (line.empty()) continue;
    try {
      const Json j = Json::parse(line);
      if (j.at("schema") != "pesuite.session/1") fail(Exit::data, "{} is no spool", file.string());
      Session s;
      s.run = j.at("run"), s.cell = j.at("cell"), s.name = j.at("name");
      s.series = j.at("series"), s.status = j.at("status");
      s.begin = j.at("begin"), s.end = j.at("end");
      s.settings = j.at("settings").get<std::map<std::string, Json>>();
      for (const Json& p : j.at("points"))
        s.points.push_back({p.at(0), p.at(1), p.at(2), p.at(3), p.at(4)});
      out.push_back(std::move(s));
    } catch (const Json::exception&) {
      fail(Exit::data, "{}:{}: no session, as 'pesuite export --to mlflow --offline' writes them",
           file.string(), number);
    }
  }
  return out;
}

}  // namespace pesuite
