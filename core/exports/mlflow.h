// MLflow's REST interface (mlflow.org/docs/latest/rest-api.html): experiments, runs, metrics in
// batches.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "exports/sessions.h"

namespace pesuite {

struct HttpAnswer {
  long code = 0;  // 0: nobody answered, and `text` says why
  std::string text;
};
// Method, address, body.
using Http = std::function<HttpAnswer(const std::string&, const std::string&, const std::string&)>;
// By libcurl; Error (environment) in its first call where the build has none. `seconds`: an
// answer's limit.
Http curl_http(double seconds);

struct MlflowOptions {
  std::string url;                     // "http://host:5000"
  std::string collection = "pesuite";  // its experiment
  int tries = 4;                       // of a request that was not answered, or by 429 or 5xx
  double pause = 1;                    // seconds before the second; each further one twice as long
};
struct MlflowSent {
  std::size_t sessions = 0, metrics = 0, files = 0, requests = 0;
  std::size_t before = 0;             // sessions that were there
  std::vector<std::string> failures;  // a sentence each: what was not sent, and how far it came
};
// A run each session, with its curves by step, results by length, settings and tags. A run that the
// experiment has already, by its cell, is left as it is. Goes on where one session fails.
MlflowSent send_to_mlflow(const std::vector<Session>&, const MlflowOptions&, const Http&);

// A run for the report of each, with its files as artefacts; what the experiment has already is
// left as it is. Servers that do not hand artefacts on (mlflow server --serve-artifacts) refuse.
MlflowSent send_files_to_mlflow(const std::vector<RunFiles>&, const MlflowOptions&, const Http&);

// Sessions as lines of JSON, to be sent another time, and back. Error (data) where they are none.
std::string spool_of(const std::vector<Session>&);
std::vector<Session> read_spool(const fs::path&);

}  // namespace pesuite
