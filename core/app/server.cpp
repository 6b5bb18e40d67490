#include "app/server.h"

#include <fmt/format.h>
#include <httplib.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "app/address.h"
#include "app/form.h"
#include "app/jobs.h"
#include "base/error.h"
#include "base/file.h"
#include "base/page.h"
#include "base/text.h"

namespace pesuite::app {

namespace {

using httplib::Request;
using httplib::Response;

constexpr const char* page =
#include "app_page.inc"
    ;
constexpr const char* style =
#include "app_style.inc"
    ;
constexpr const char* script =
#include "app_script.inc"
    ;

constexpr std::size_t most_body = 64 << 10;
constexpr int most_listeners = 16;  // of events, each of which holds a thread
constexpr int threads = most_listeners + 8;

void answer(Response& r, int status, const Json& j) {
  r.status = status;
  r.set_content(j.dump(), "application/json; charset=utf-8");
}
void refuse(Response& r, int status, const std::string& why) {
  answer(r, status, {{"error", why}});
}

// "x" alone where a name is one of a file: letters, digits and signs, not a dot first.
bool is_name(const std::string& text) {
  return !text.empty() && text.size() < 200 && text[0] != '.' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
         });
}

// What of a run may be read: its own files and those of two folders.
bool is_served(const std::string& path) {
  const std::vector<std::string> parts = split(path, '/');
  if (!std::all_of(parts.begin(), parts.end(), is_name)) return false;
  if (parts.size() == 2) return parts[0] == "figures" || parts[0] == "tables";
  static const std::set<std::string> files = {
      "report.html",         "report.md",      "details.md",     "records.jsonl",
      "suite.resolved.toml", "references.bib", "comparison.html"};
  return parts.size() == 1 && files.contains(path);
}

const char* type_of(const fs::path& file) {
  const std::string e = file.extension().string();
  return e == ".html"   ? "text/html; charset=utf-8"
         : e == ".svg"  ? "image/svg+xml"
         : e == ".json" ? "application/json"
                        : "text/plain; charset=utf-8";
}

class App {
 public:
  App(const ServerOptions& o, const Catalog& catalog)
      : options_(o), choices_(choices(catalog).dump()), jobs_(o.program, o.out, flags()) {}

  void serve(const std::function<void(int)>& ready) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(threads); };
    server_.set_payload_max_length(most_body);
    server_.set_read_timeout(5), server_.set_write_timeout(5),
        server_.set_keep_alive_max_count(100);
    server_.set_pre_routing_handler([this](const Request& q, Response& r) {
      return guard(q, r) ? httplib::Server::HandlerResponse::Unhandled
                         : httplib::Server::HandlerResponse::Handled;
    });
    server_.set_exception_handler([](const Request&, Response& r, std::exception_ptr e) {
      try {
        std::rethrow_exception(e);
      } catch (const std::exception& error) {
        refuse(r, 400, error.what());
      }
    });
    server_.set_error_handler([](const Request&, Response& r) {
      if (r.body.empty())
        refuse(r, r.status,
               r.status == 404   ? "there is no such page"
               : r.status == 413 ? "more was sent than any form holds"
                                 : fmt::format("the request failed ({})", r.status));
    });
    pages(), runs(), jobs();
    check_address(options_.listen);
    port_ = options_.port;
    if (options_.port == 0)
      port_ = server_.bind_to_any_port(options_.listen);
    else if (!server_.bind_to_port(options_.listen, options_.port))
      port_ = -1;
    if (port_ <= 0)
      fail(Exit::usage,
           "nothing can be served at {}:{}: another program may be there, or this account may not "
           "use the port; choose another '--port'",
           host_of_url(options_.listen), options_.port);
    ready(port_);
    server_.listen_after_bind();
    ends_ = true;
  }
  void stop() {
    ends_ = true;
    server_.stop();
  }

 private:
  std::vector<std::string> flags() const {
    std::vector<std::string> out;
    for (const std::string& p : options_.plugin_path) out.insert(out.end(), {"--plugin-path", p});
    return out;
  }

  // ------------------------------------------------------------------------------ who asks
  // A page of another site can send requests here, by this address or by a name of its own that
  // leads here (DNS rebinding): the host it asked for and the site it comes from tell.
  bool guard(const Request& q, Response& r) {
    r.set_header("X-Content-Type-Options", "nosniff");
    r.set_header("Referrer-Policy", "no-referrer");
    r.set_header("Cache-Control", "no-store");
    r.set_header("Cross-Origin-Resource-Policy", "same-origin");
    if (!is_of_runs(q.path))  // these have their own
      r.set_header("Content-Security-Policy",
                   "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                   "img-src 'self' data:; frame-src 'self'; base-uri 'none'; form-action 'none'; "
                   "frame-ancestors 'none'");
    const std::string host = q.get_header_value("Host");
    std::set<std::string> hosts;
    for (const std::string& address :
         {options_.listen, std::string("127.0.0.1"), std::string("localhost"), std::string("::1")})
      hosts.insert(fmt::format("{}:{}", host_of_url(address), port_));
    if (!is_every_address(options_.listen) && !hosts.contains(host)) {
      refuse(r, 421, "this app answers under its own address alone");
      return false;
    }
    if (const std::string origin = q.get_header_value("Origin");
        !origin.empty() && origin != "http://" + host) {
      refuse(r, 403, "pages of other sites may not ask this app");
      return false;
    }
    if (q.method != "GET" && q.method != "HEAD" &&
        q.get_header_value("Content-Type").find("application/json") != 0) {
      refuse(r, 415, "what is sent has to be application/json");
      return false;
    }
    return knows_token(q, r);
  }
  static bool is_of_runs(const std::string& path) {
    return path.starts_with("/runs/") || path.starts_with("/compared/");
  }
  bool knows_token(const Request& q, Response& r) {
    if (options_.token.empty()) return true;
    const std::string cookie = "pesuite_token=" + options_.token;
    if (q.get_param_value("token") == options_.token) {
      r.set_header("Set-Cookie", cookie + "; HttpOnly; SameSite=Strict; Path=/");
      return true;
    }
    for (const std::string& c : split(q.get_header_value("Cookie"), ';'))
      if (trim(c) == cookie) return true;
    refuse(r, 401, "this app wants its token: open the address that it printed");
    return false;
  }

  // ------------------------------------------------------------------------------ pages
  void pages() {
    const auto text = [this](const char* path, const std::string& what, const char* type) {
      server_.Get(path, [what, type](const Request&, Response& r) { r.set_content(what, type); });
    };
    text("/", page, "text/html; charset=utf-8");
    text("/app.css", std::string(style) + page_style(), "text/css; charset=utf-8");
    text("/app.js", script, "text/javascript; charset=utf-8");
    server_.Get("/api/choices", [this](const Request&, Response& r) {
      r.set_content(choices_, "application/json; charset=utf-8");
    });
    // The form as a suite: what `pesuite validate` says of it.
    server_.Post("/api/suite", [this](const Request& q, Response& r) {
      const std::string text = suite_text(form_of(q));
      answer(r, 200, {{"suite", text}, {"problems", problems_of(text)}});
    });
  }
  static Json form_of(const Request& q) {
    const Json j = Json::parse(q.body, nullptr, false);
    if (j.is_discarded()) fail(Exit::usage, "what was sent is no JSON");
    return j;
  }
  std::string problems_of(const std::string& suite) const {
    static std::atomic<int> number = 0;
    const fs::path file =
        options_.out / "app" / fmt::format("checked_{}_{}.toml", ::getpid(), ++number);
    write_file_atomic(file, suite);
    std::vector<std::string> words = {options_.program.string(), "validate", file.string()};
    const std::vector<std::string> more = flags();
    words.insert(words.end(), more.begin(), more.end());
    std::string said;
    const int code = run_program(words, said, 60);
    std::error_code error;
    fs::remove(file, error);
    if (code == 0) return "";
    for (std::size_t at = 0; (at = said.find(file.string(), at)) != std::string::npos;)
      said.replace(at, file.string().size(), "suite");
    return said;
  }

  // ------------------------------------------------------------------------------ runs
  void runs() {
    server_.Get("/api/runs", [this](const Request&, Response& r) {
      std::vector<std::string> names;
      std::error_code error;
      for (const auto& item : fs::directory_iterator(options_.out / "runs", error))
        if (is_name(item.path().filename().string()))
          names.push_back(item.path().filename().string());
      std::sort(names.rbegin(), names.rend());
      Json out = Json::array();
      for (const std::string& n : names)
        out.push_back(
            {{"name", n}, {"report", fs::exists(options_.out / "runs" / n / "report.html")}});
      answer(r, 200, out);
    });
    server_.Get(R"(/runs/([^/]+)/(.+))", [this](const Request& q, Response& r) {
      send_file(options_.out / "runs", q.matches[1], q.matches[2], r);
    });
    server_.Get(R"(/compared/([^/]+)/(.+))", [this](const Request& q, Response& r) {
      send_file(options_.out / "app" / "compared", q.matches[1], q.matches[2], r);
    });
    server_.Post("/api/compare", [this](const Request& q, Response& r) {
      const Json j = form_of(q);
      const std::string a = run_of(j, "a"), b = run_of(j, "b");
      const std::string name = a + "-and-" + b;
      std::string said;
      const int code =
          run_program({options_.program.string(), "compare", (options_.out / "runs" / a).string(),
                       (options_.out / "runs" / b).string(), "--report",
                       (options_.out / "app" / "compared" / name).string()},
                      said, 300);
      if (code != 0 && code != static_cast<int>(Exit::inconclusive)) return refuse(r, 422, said);
      answer(r, 200, {{"page", "/compared/" + name + "/comparison.html"}, {"said", said}});
    });
    server_.Post("/api/baseline", [this](const Request& q, Response& r) {
      const Json j = form_of(q);
      const std::string run = run_of(j, "run"), name = j.value("name", "");
      if (!is_name(name))
        return refuse(r, 400, "a baseline's name has letters, digits, '.', '_' and '-'");
      std::string said;
      const int code = run_program(
          {options_.program.string(), "baseline", "save", name,
           (options_.out / "runs" / run).string(), "--baselines", options_.baselines.string()},
          said, 120);
      if (code != 0) return refuse(r, 422, said);
      answer(r, 200, {{"said", said}});
    });
  }
  std::string run_of(const Json& j, const char* key) const {
    const std::string name =
        j.is_object() && j.contains(key) && j[key].is_string() ? j[key].get<std::string>() : "";
    if (!is_name(name) || !fs::is_directory(options_.out / "runs" / name))
      fail(Exit::usage, "'{}' names no run of this store", key);
    return name;
  }
  static void send_file(const fs::path& root, const std::string& folder, const std::string& path,
                        Response& r) {
    std::error_code error;
    if (!is_name(folder) || !is_served(path)) return refuse(r, 404, "there is no such page");
    const fs::path file = fs::weakly_canonical(root / folder / path, error);
    const fs::path home = fs::weakly_canonical(root / folder, error);
    const auto [end, rest] = std::mismatch(home.begin(), home.end(), file.begin(), file.end());
    if (end != home.end() || !fs::is_regular_file(file, error))  // a link may lead elsewhere
      return refuse(r, 404, "there is no such page");
    // Its own scripts, in a world of their own: it cannot ask this app for anything.
    r.set_header(
        "Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src "
        "data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox "
        "allow-scripts allow-popups allow-modals");
    r.set_content(read_file(file), type_of(file));
  }

  // ------------------------------------------------------------------------------ jobs
  void jobs() {
    server_.Get("/api/jobs", [this](const Request&, Response& r) {
      Json out = Json::array();
      for (const Job& j : jobs_.all()) out.push_back(with_report(j));
      answer(r, 200, out);
    });
    server_.Post("/api/jobs", [this](const Request& q, Response& r) {
      const Json form = form_of(q);
      const std::string text = suite_text(form), problems = problems_of(text);
      if (!problems.empty()) return refuse(r, 422, problems);
      const std::string device = form.value("device", "");
      if (!std::set<std::string>{"", "auto", "cpu", "cuda", "reference"}.contains(device))
        return refuse(r, 400, "'device' is auto, cpu, cuda or reference");
      answer(r, 201, to_json(jobs_.add(text, form.value("name", "app"), device, form)));
    });
    server_.Post(R"(/api/jobs/(\d+)/cancel)", [this](const Request& q, Response& r) {
      if (!jobs_.cancel(q.matches[1]))
        return refuse(r, 404, "no job of this number is queued or running");
      answer(r, 200, {{"cancelled", std::string(q.matches[1])}});
    });
    server_.Get(R"(/api/jobs/(\d+)/events)", [this](const Request& q, Response& r) {
      if (!jobs_.find(q.matches[1])) return refuse(r, 404, "there is no such job");
      if (++listeners_ > most_listeners) {
        --listeners_;
        return refuse(r, 503, "too many pages listen; close some");
      }
      r.set_chunked_content_provider(
          "text/event-stream",
          [this, id = std::string(q.matches[1]), at = std::size_t{0}](
              std::size_t, httplib::DataSink& sink) mutable { return tell(id, at, sink); },
          [this](bool) { --listeners_; });
    });
  }
  Json with_report(const Job& j) const {
    Json out = to_json(j);
    out["report"] = is_name(j.run) && fs::exists(options_.out / "runs" / j.run / "report.html");
    return out;
  }
  // What a job says, as server-sent events, until it has ended.
  bool tell(const std::string& id, std::size_t& at, httplib::DataSink& sink) {
    std::string state;
    for (int quiet = 0; !ends_; ++quiet) {
      const std::optional<Job> j = jobs_.find(id);
      if (!j) return false;
      const std::string said = jobs_.said(id, at);
      std::string events;
      at += said.size();
      for (const std::string& line : split(said, '\n'))
        if (!line.empty()) events += "data: " + line + "\n\n";
      if (state != j->state) {
        state = j->state;
        events += "event: job\ndata: " + with_report(*j).dump() + "\n\n";
      }
      if (events.empty() && quiet % 50 == 49) events = ": here\n\n";  // finds out who has gone
      if (!events.empty() && !sink.write(events.data(), events.size())) return false;
      if (state != "queued" && state != "running") {
        sink.done();
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return false;
  }

  ServerOptions options_;
  std::string choices_;
  Jobs jobs_;
  httplib::Server server_;
  std::atomic<int> listeners_ = 0;
  std::atomic<bool> ends_ = false;
  int port_ = 0;
};

}  // namespace

void serve(const ServerOptions& o, const Catalog& catalog, const std::function<void(int)>& ready) {
  sigset_t signals, before;  // waited for by a thread of their own; children get them back
  sigemptyset(&signals);
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, s);
  ::pthread_sigmask(SIG_BLOCK, &signals, &before);
  App app(o, catalog);
  std::atomic<bool> over = false;
  std::thread waits([&] {
    const timespec moment{0, 100'000'000};
    while (!over)
      if (::sigtimedwait(&signals, nullptr, &moment) > 0) app.stop();
  });
  const auto end = [&] {
    over = true;
    waits.join();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  };
  try {
    app.serve(ready);
  } catch (...) {
    end();
    throw;
  }
  end();
}

}  // namespace pesuite::app
