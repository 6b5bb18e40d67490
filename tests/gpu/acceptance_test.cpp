// What is not refused is taken: for each device and each form in use, cuDNN finds an engine, and
// its workspace is the one that was predicted. Devices are described by profiles; the driver is a
// mock. cuDNN may crash on a graph, so each question is asked in a process of its own.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>

#include "backend/cuda/attention_graph.h"
#include "backend/cuda/operation_graph.h"
#include "backend/cuda/plan.h"
#include "base/error.h"
#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

using namespace cuda;
using ::testing::HasSubstr;

struct Machine {
  const char* name;
  int sm;
  DeviceFacts facts() const { return {sm, std::int64_t{64} << 30, 4096, true}; }
  std::string profile() const {
    std::ostringstream text;
    text << std::ifstream(std::string(PESUITE_GPU_PROFILES) + "/" + name + ".json").rdbuf();
    return text.str();
  }
};
constexpr Machine machines[] = {
    {"a100", 80}, {"l40s", 89}, {"h200", 90}, {"b200", 100}, {"rtx5090", 120}};
void PrintTo(const Machine& m, std::ostream* to) {
  *to << m.name;
}

constexpr std::int64_t B = 8, H = 12, T = 2048;

AttentionRequest request() {
  AttentionRequest r;
  r.B = B, r.H = r.G = H, r.T = r.S = T, r.D = r.E = 64;
  return r;
}
BiasForm form(const Shape& s, Type t = Type::bf16) {
  return {s, t, (s[3] + 7) / 8 * 8};
}

struct Form {
  const char* name;
  std::function<void(AttentionRequest&)> change;
  // On these no backward pass is asked for, since a rule refuses it.
  std::vector<int> no_backward = {};
};

void length(AttentionRequest& r, std::int64_t n) {
  r.T = r.S = n;
}
void sizes(AttentionRequest& r, std::int64_t d, std::int64_t e) {
  r.D = d, r.E = e;
}
void both(AttentionRequest& r, const Shape& s, Type t = Type::bf16) {
  r.biases = {form(s, t)};
  r.dbias = BiasForm{s, Type::bf16, s[3]};
}
const std::vector<int> all_devices = {80, 89, 90, 100, 120};

const std::vector<Form> forms = {
    {"plain", [](auto&) {}},
    {"fp16", [](auto& r) { r.io = Type::fp16; }},
    {"fp16, slopes, deterministic",
     [](auto& r) { r.io = Type::fp16, r.slopes = r.deterministic = true; }},
    {"fp16, two biases, odd rows",
     [](auto& r) {
       r.io = Type::fp16, length(r, 1001);
       r.biases = {form({1, H, 1001, 1001}, Type::fp16), form({B, H, 1, 1001}, Type::fp32)};
     }},
    {"fp16, gradient a head",
     [](auto& r) {
       r.io = Type::fp16, both(r, {1, H, T, T}, Type::fp16);
       r.dbias->type = Type::fp16;
     }},
    {"by token", [](auto& r) { r.layout = Layout::by_token; }},
    {"packed", [](auto& r) { r.layout = Layout::packed; }},
    {"packed, groups", [](auto& r) { r.layout = Layout::packed, r.G = 4; }},
    {"64 tokens", [](auto& r) { length(r, 64); }},
    {"127 tokens", [](auto& r) { length(r, 127); }},
    {"64 tokens, groups", [](auto& r) { length(r, 64), r.G = 4; }},
    {"64 tokens, dropout", [](auto& r) { length(r, 64), r.dropout = 0.1; }},
    {"128 tokens", [](auto& r) { length(r, 128); }},
    {"one sequence of 512", [](auto& r) { length(r, 512), r.B = 1; }},
    {"192 tokens, dropout", [](auto& r) { length(r, 192), r.dropout = 0.1; }},
    {"192 tokens, groups", [](auto& r) { length(r, 192), r.G = 4; }},
    {"127 tokens, deterministic", [](auto& r) { length(r, 127), r.deterministic = true; }},
    {"192 tokens", [](auto& r) { length(r, 192); }},
    {"1000 tokens", [](auto& r) { length(r, 1000); }},
    {"16384 tokens", [](auto& r) { length(r, 16384); }},
    {"32768 tokens", [](auto& r) { length(r, 32768), r.B = 1; }},
    {"131072 tokens", [](auto& r) { length(r, 131072), r.B = 1; }},
    {"131072 tokens, groups", [](auto& r) { length(r, 131072), r.B = 1, r.G = 4; }},
    {"131072 tokens, 128 and 64", [](auto& r) { length(r, 131072), r.B = 1, sizes(r, 128, 64); }},
    {"131072 tokens, slopes", [](auto& r) { length(r, 131072), r.B = 1, r.slopes = true; }},
    {"131072 tokens, a value a key",
     [](auto& r) {
       length(r, 131072), r.B = 1;
       r.biases = {form({1, H, 1, 131072}, Type::fp32)};
     }},
    {"131071 tokens", [](auto& r) { length(r, 131071), r.B = 1; }},
    {"1920 of 2048 tokens", [](auto& r) { length(r, 1920), r.stored = 2048; }},
    {"1920 of 2048 tokens, deterministic, groups",
     [](auto& r) { length(r, 1920), r.stored = 2048, r.deterministic = true, r.G = 4; }},
    {"873 of 1001 tokens, deterministic, 128 and 64",
     [](auto& r) {
       length(r, 873), r.stored = 1001, r.deterministic = true;
       sizes(r, 128, 64);
     }},
    {"131008 of 131072 tokens",
     [](auto& r) { length(r, 131008), r.stored = 131072, r.B = 1; }},
    {"groups", [](auto& r) { r.G = 4; }},
    {"one key head", [](auto& r) { r.G = 1; }},
    {"head size 8", [](auto& r) { sizes(r, 8, 8); }},
    {"head size 40", [](auto& r) { sizes(r, 40, 40); }},
    {"head size 128", [](auto& r) { sizes(r, 128, 128); }},
    {"head size 256", [](auto& r) { sizes(r, 256, 256); }, all_devices},
    {"128 and 64", [](auto& r) { sizes(r, 128, 64); }},
    {"128 and 64, groups", [](auto& r) { sizes(r, 128, 64), r.G = 4; }},
    {"64 and 32", [](auto& r) { sizes(r, 64, 32); }},
    {"192 and 128", [](auto& r) { sizes(r, 192, 128); }, {80, 89, 120}},
    {"slopes", [](auto& r) { r.slopes = true; }},
    {"bias of all heads",
     [](auto& r) {
       r.biases = {form({1, 1, T, T})};
     }},
    {"bias a head",
     [](auto& r) {
       r.biases = {form({1, H, T, T})};
     }},
    {"bias a sequence",
     [](auto& r) {
       r.biases = {form({B, 1, T, T})};
     }},
    {"bias of all",
     [](auto& r) {
       r.biases = {form({B, H, T, T})};
     }},
    {"bias in fp32",
     [](auto& r) {
       r.biases = {form({1, H, T, T}, Type::fp32)};
     }},
    {"bias, odd rows",
     [](auto& r) {
       length(r, 1001);
       r.biases = {form({1, H, 1001, 1001})};
     }},
    {"a value a key",
     [](auto& r) {
       r.biases = {form({B, H, 1, T}, Type::fp32)};
     }},
    {"a value a key of all",
     [](auto& r) {
       r.biases = {form({1, 1, 1, T}, Type::fp32)};
     }},
    {"two biases",
     [](auto& r) {
       r.biases = {form({1, H, T, T}), form({B, H, 1, T}, Type::fp32)};
     }},
    {"gradient of all heads",
     [](auto& r) {
       both(r, {1, 1, T, T});
     }},
    {"gradient a head",
     [](auto& r) {
       both(r, {1, H, T, T});
     }},
    {"gradient of all",
     [](auto& r) {
       both(r, {B, H, T, T});
     }},
    {"gradient a key",
     [](auto& r) {
       both(r, {B, H, 1, T}, Type::fp32);
     }},
    {"gradient of two",
     [](auto& r) {
       r.biases = {form({1, H, T, T}), form({B, 1, 1, T}, Type::fp32)};
       r.dbias = form({B, H, T, T});
     }},
    {"gradient, odd rows",
     [](auto& r) {
       length(r, 1001);
       both(r, {1, H, 1001, 1001});
     }},
    {"gradient, groups",
     [](auto& r) {
       both(r, {1, H, T, T}), r.G = 4;
     }},
    {"gradient, 128 and 64",
     [](auto& r) {
       both(r, {1, H, T, T}), sizes(r, 128, 64);
     }},
    {"dropout", [](auto& r) { r.dropout = 0.1; }},
    {"dropout, 1000 tokens", [](auto& r) { r.dropout = 0.1, length(r, 1000); }},
    {"dropout, groups", [](auto& r) { r.dropout = 0.1, r.G = 4; }},
    {"dropout, slopes", [](auto& r) { r.dropout = 0.1, r.slopes = true; }},
    {"dropout, gradient", [](auto& r) { r.dropout = 0.1, both(r, {1, H, T, T}); }, {100}},
    {"deterministic", [](auto& r) { r.deterministic = true; }},
    {"deterministic, 1000 tokens", [](auto& r) { r.deterministic = true, length(r, 1000); }},
    {"deterministic, groups", [](auto& r) { r.deterministic = true, r.G = 4; }},
    {"deterministic, slopes", [](auto& r) { r.deterministic = r.slopes = true; }},
    {"deterministic, a bias a head",
     [](auto& r) {
       r.deterministic = true;
       r.biases = {form({1, H, T, T})};
     }},
    {"deterministic, two biases",
     [](auto& r) {
       r.deterministic = true;
       r.biases = {form({1, H, T, T}), form({B, H, 1, T}, Type::fp32)};
     }},
    {"deterministic, a value a key, groups",
     [](auto& r) {
       r.deterministic = true, r.G = 4;
       r.biases = {form({B, H, 1, T}, Type::fp32)};
     }},
    {"deterministic, 16384 tokens, a bias a head",
     [](auto& r) {
       r.deterministic = true, r.B = 4, length(r, 16384);
       r.biases = {form({1, H, 16384, 16384})};
     }},
    {"no mask", [](auto& r) { r.causal = false; }}};

// Says what cuDNN answers, from a process of its own.
std::string in_child(const std::function<std::string()>& ask) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    std::string answer;
    try {
      answer = ask();
    } catch (const std::exception& e) {
      answer = e.what();
    }
    const bool written = write(ends[1], answer.data(), answer.size()) >= 0;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string answer;
  char part[4096];
  for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;)
    answer.append(part, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return fmt::format("cuDNN ended by signal {}", WTERMSIG(status));
  return answer;
}

std::string first_engine(const Machine& m, const AttentionRequest& r, Pass pass) {
  std::string why;
  const OperationGraph graph(attention_graph(r, pass));
  const auto all = engines(graph, device_profile(m.profile()), m.facts().workspace, why);
  if (all.empty()) return "no engine: " + why;
  return fmt::format("workspace {}", all[0].workspace);
}

class Acceptance : public ::testing::TestWithParam<Machine> {
 protected:
  static void SetUpTestSuite() {
    // Found by its name when cuDNN asks for libcuda.so.1.
    ASSERT_NE(dlopen(PESUITE_MOCK_DRIVER, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
  }
};

TEST_P(Acceptance, FindsAnEngineForEveryFormWithThePredictedWorkspace) {
  const Machine& m = GetParam();
  first_engine(m, request(), Pass::forward);  // libraries that all children then share
  for (const Form& f : forms) {
    for (const Pass pass : {Pass::inference, Pass::forward, Pass::backward}) {
      AttentionRequest r = request();
      f.change(r);
      if (pass == Pass::inference) r.dropout = 0;
      const std::string why = refusal(r, pass, m.facts());
      const bool asked = pass != Pass::backward ||
                         std::count(f.no_backward.begin(), f.no_backward.end(), m.sm) == 0;
      EXPECT_EQ(why.empty(), asked) << f.name << ": " << why;
      if (!asked || !why.empty()) continue;
      EXPECT_EQ(in_child([&] { return first_engine(m, r, pass); }),
                fmt::format("workspace {}", workspace_bytes(r, pass, m.facts())))
          << f.name << ": " << plan_key(r, pass, 0);
    }
  }
}

// A single query is answered by kernels that split the keys; what they need is not predicted.
TEST_P(Acceptance, FindsAnEngineForOneQueryThatSeesAllKeys) {
  const Machine& m = GetParam();
  AttentionRequest r = request();
  r.T = 1, r.causal = false;
  EXPECT_EQ(refusal(r, Pass::inference, m.facts()), "");
  EXPECT_THAT(in_child([&] { return first_engine(m, r, Pass::inference); }),
              HasSubstr("workspace"));
  const std::string answer = in_child([&]() -> std::string {  // and as text grows
    Plans plans(0, m.facts(), device_profile(m.profile()));
    for (r.S = 700; r.S < 703; ++r.S) plans.get(r, Pass::forward);
    return "compiled";
  });
  EXPECT_EQ(answer, "compiled");
}

TEST_P(Acceptance, CompilesPlansAndKeepsThem) {
  const Machine& m = GetParam();
  const std::string answer = in_child([&]() -> std::string {
    Plans plans(0, m.facts(), device_profile(m.profile()));
    AttentionRequest r = request();
    const Plan& forward = plans.get(r, Pass::forward);
    const Plan& backward = plans.get(r, Pass::backward);
    if (&plans.get(r, Pass::forward) != &forward) return "a plan was compiled twice";
    if (&backward == &forward) return "two passes share a plan";
    for (const Plan* p : {&forward, &backward}) {
      const Pass pass = p == &forward ? Pass::forward : Pass::backward;
      if (p->workspace() != workspace_bytes(r, pass, m.facts()))
        return fmt::format("a plan with a workspace of {} bytes", p->workspace());
    }
    return "compiled";
  });
  EXPECT_EQ(answer, "compiled");
}

// A further process reads them. What was damaged is compiled anew, and nothing hostile reaches
// cuDNN.
TEST_P(Acceptance, KeepsPlansOnDisk) {
  const Machine& m = GetParam();
  const std::string answer = in_child([&]() -> std::string {
    const Scratch scratch;
    const std::filesystem::path folder = scratch / "plans";
    const auto read = [&] {
      std::map<std::filesystem::path, std::string> files;
      for (const auto& item : std::filesystem::directory_iterator(folder)) {
        std::ostringstream text;
        text << std::ifstream(item.path()).rdbuf();
        files[item.path()] = text.str();
      }
      return files;
    };
    std::string said;
    const auto seconds = [&] {
      const auto start = std::chrono::steady_clock::now();
      Plans plans(0, m.facts(), device_profile(m.profile()), folder);
      AttentionRequest r = request();
      for (const Pass pass : {Pass::inference, Pass::forward, Pass::backward})
        if (plans.get(r, pass).workspace() != workspace_bytes(r, pass, m.facts()))
          said += "another workspace; ";
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    const double compiled = seconds();
    const auto kept = read();
    if (kept.size() != 3) said += fmt::format("{} files; ", kept.size());
    const double again = seconds();
    if (again > compiled / 4) said += fmt::format("{} s, again {} s; ", compiled, again);
    if (read() != kept) said += "written again; ";
    std::size_t damage = 0;
    for (const auto& [file, text] : kept) {
      std::string bad = text;
      if (++damage == 1) bad.resize(bad.size() / 2);
      if (damage == 2) bad[bad.size() / 2] ^= 1;
      if (damage == 3) bad.clear();
      std::ofstream(file) << bad;
    }
    seconds();
    for (const auto& [file, text] : read())
      if (text.size() < kept.at(file).size() / 2) said += "damage stayed; ";
    return said.empty() ? "kept" : said;
  });
  EXPECT_EQ(answer, "kept");
}

TEST_P(Acceptance, BindsWhatAPlanReadsAndSaysWhatIsMissing) {
  const Machine& m = GetParam();
  const auto with = [&](void (*change)(Bindings&)) {
    return in_child([&]() -> std::string {
      const Plan plan(request(), Pass::forward, device_profile(m.profile()), m.facts());
      alignas(16) static std::byte memory[16];
      Bindings b;
      for (const Slot s : {Slot::q, Slot::k, Slot::v, Slot::y, Slot::lse}) b[s] = memory;
      change(b);
      plan.pack(b, plan.workspace() > 0 ? memory : nullptr);
      return "bound";
    });
  };
  EXPECT_EQ(with([](Bindings&) {}), "bound");
  EXPECT_EQ(with([](Bindings& b) { b[Slot::k] = nullptr; }),
            "attention: 'k' of its graph is not bound");
  EXPECT_THAT(with([](Bindings& b) { b[Slot::v] = static_cast<std::byte*>(b[Slot::v]) + 4; }),
              HasSubstr("wanted is a multiple of 16 bytes"));
}

TEST_P(Acceptance, TellsWhyThereIsNoPlan) {
  const Machine& m = GetParam();
  const auto plan = [&](AttentionRequest r, DeviceFacts facts) {
    return in_child([&]() -> std::string {
      Plan(r, Pass::forward, device_profile(m.profile()), facts);
      return "compiled";
    });
  };
  AttentionRequest r = request();
  r.D = 60;
  EXPECT_THAT(plan(r, m.facts()), HasSubstr("multiples of 8"));
  EXPECT_THAT(in_child([&] {
                AttentionRequest wrong = request();
                wrong.D = wrong.E = 60;  // past the rules, to hear cuDNN itself
                return first_engine(m, wrong, Pass::forward);
              }),
              ::testing::MatchesRegex("no engine: .+"));
  EXPECT_THAT(in_child([&]() -> std::string {
                device_profile("{}");
                return "taken";
              }),
              HasSubstr("finalizing a device's profile from JSON failed with CUDNN_STATUS"));
}

INSTANTIATE_TEST_SUITE_P(On, Acceptance, ::testing::ValuesIn(machines),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace pesuite::testing
