// What --device and a suite's backend say where there is no NVIDIA driver.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdlib>

#include "backend/choice.h"
#include "model/train.h"
#include "tests/cli/fixture.h"
#include "tests/failure.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;

class Device : public Run {
 protected:
  void SetUp() override {
    if (void* const driver = ::dlopen("libcuda.so.1", RTLD_LAZY); driver != nullptr) {
      ::dlclose(driver);
      GTEST_SKIP() << "there is an NVIDIA driver here";
    }
  }
  Ended bench(const std::string& device) {
    return pesuite({"bench", "attention", "--lengths", "64", "--slots", "none", "--repetitions",
                    "1", "--window", "0.001", "--threads", "1", "--device", device});
  }
  static constexpr const char* why =
      "no CUDA device: there is no NVIDIA driver (libcuda.so.1) on this machine";
};

TEST_F(Device, CudaIsRefusedWithASentence) {
  for (const Ended& e :
       {bench("cuda"),
        pesuite({"train", "--encoding", "none", "--task", "toylag", "--device", "cuda"}),
        pesuite({"run", suite({"none"}, 5, "", "backend = \"cuda\"").string()})}) {
    EXPECT_EQ(e.code, 6);
    EXPECT_THAT(e.err, HasSubstr(fmt::format("{}; use --device cpu", why)));
  }
}

TEST_F(Device, AutoComputesOnTheCpuAndSaysWhy) {
  const Ended e = bench("auto");
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_THAT(e.err, HasSubstr(fmt::format("note: the CPU computes: {}", why)));
  const Ended plan = pesuite({"plan", suite({"none"}, 5, "", "backend = \"auto\"").string()});
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr(fmt::format("note: the CPU computes: {}", why)));
}

TEST_F(Device, CpuSaysNothingOfIt) {
  EXPECT_THAT(bench("cpu").err, ::testing::Not(HasSubstr("CUDA")));
}

TEST_F(Device, UnknownNamesAreRefused) {
  const Ended numbered = bench("cuda:1"), unknown = bench("tpu");
  EXPECT_EQ(numbered.code, 6);
  EXPECT_THAT(numbered.err, HasSubstr("CUDA_VISIBLE_DEVICES says which device 'cuda' is"));
  EXPECT_EQ(unknown.code, 6);
  EXPECT_THAT(unknown.err, HasSubstr("known are auto, cpu, cuda and reference"));
}

// Where nobody asked for a precision, what computes decides, before cells have an identity.
TEST(UsualPrecision, IsBf16OnDevicesOnly) {
  EXPECT_EQ(usual_precision("cuda"), Precision::bf16);
  EXPECT_EQ(usual_precision("cpu"), Precision::fp32);
  EXPECT_EQ(usual_precision("reference"), Precision::fp32);
  for (const std::string name : {"cpu", "reference"})
    EXPECT_EQ(choose_backend(name, {}).precision, Precision::fp32);
  EXPECT_EQ(choose_backend("reference", Precision::fp32).precision, Precision::fp32);
  EXPECT_EQ(failure([] { choose_backend("reference", Precision::bf16); }),
            "the reference backend computes in double and knows no bf16; leave precision out, or "
            "use --device cpu");
}

// A device is given more at a time, and a cell says how much.
TEST(UsualPass, IsLongerOnDevices) {
  TrainConfig c;
  c.batch = 64, c.length = 512;
  c.pass_tokens = usual_pass_tokens("cpu");
  EXPECT_EQ(c.pass_size(), 4);
  c.pass_tokens = usual_pass_tokens("cuda");
  EXPECT_EQ(c.pass_size(), 64);
  c.micro_batch = 8;
  EXPECT_EQ(c.pass_size(), 8);
}

class PlannedPrecision : public Run {};
TEST_F(PlannedPrecision, IsPartOfACellWhetherAskedForOrNot) {
  const auto plan = [&](const std::string& defaults) {
    const Ended e = pesuite({"plan", suite({"none"}, 5, "", defaults).string(), "--json"});
    EXPECT_EQ(e.code, 0) << e.err;
    return Json::parse(e.out)["cells"][0];
  };
  const Json usual = plan(""), asked = plan("precision = \"fp32\"");
  EXPECT_EQ(usual["config"]["precision"], "fp32");
  EXPECT_EQ(usual["cell"], asked["cell"]);
  if (failure([] { choose_backend("cpu", Precision::bf16); }).empty()) {
    const Json bf16 = plan("backend = \"cpu\"\nprecision = \"bf16\"");
    EXPECT_EQ(bf16["config"]["precision"], "bf16");
    EXPECT_NE(bf16["cell"], usual["cell"]);
  }
  EXPECT_THAT(pesuite({"plan", suite({"none"}, 5).string()}).out,
              HasSubstr("computed on cpu in fp32\n"));
}

// bf16 where it is faster: a suite that ships runs on any processor, and nowhere slower than it
// could.
TEST_F(PlannedPrecision, AutoIsFp32WhereBf16CannotBeOrIsSlower) {
  const auto plan = [&](const std::string& defaults) {
    return pesuite({"plan", suite({"none"}, 5, "", defaults).string(), "--json"});
  };
  const auto cell = [](const Ended& e) {
    EXPECT_EQ(e.code, 0) << e.err;
    return Json::parse(e.out)["cells"][0]["cell"].get<std::string>();
  };
  const std::string fp32 = cell(plan("precision = \"fp32\""));
  const Ended bf16 = plan("precision = \"bf16\""), here = plan("precision = \"auto\"");
  EXPECT_EQ(cell(here), bf16_is_faster("cpu") ? cell(bf16) : fp32);
  EXPECT_EQ(cell(plan("precision = \"auto\"\ndeterminism = \"strict\"")),
            cell(plan("precision = \"fp32\"\ndeterminism = \"strict\"")));

  ASSERT_EQ(::setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1), 0);
  const Ended limited = plan("precision = \"auto\""), refused = plan("precision = \"bf16\"");
  const Ended said = pesuite({"plan", suite({"none"}, 5, "", "precision = \"auto\"").string()});
  ::unsetenv("ONEDNN_MAX_CPU_ISA");
  EXPECT_EQ(cell(limited), fp32);
  EXPECT_EQ(refused.code, 6);
  EXPECT_THAT(said.out, HasSubstr("note: fp32 multiplies: precision bf16 needs AVX-512, which "
                                  "this processor does not have\n"));
  EXPECT_EQ(plan("precision = \"half\"").code, 2);

  // without bf16's instructions numbers are converted, at a quarter of the speed
  ASSERT_EQ(::setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE", 1), 0);
  const Ended slow = pesuite({"plan", suite({"none"}, 5, "", "precision = \"auto\"").string()});
  const bool can = plan("precision = \"bf16\"").code == 0;
  ::unsetenv("ONEDNN_MAX_CPU_ISA");
  EXPECT_THAT(slow.out, HasSubstr(can ? "note: fp32 multiplies: on this processor products are "
                                        "slower in bf16\n"
                                      : "note: fp32 multiplies: precision bf16 needs AVX-512"));
}

TEST_F(PlannedPrecision, Fp16IsOfDevicesAlone) {
  const Ended e =
      pesuite({"plan", suite({"none"}, 5, "", "backend = \"cpu\"\nprecision = \"fp16\"").string()});
  EXPECT_EQ(e.code, 6);
  EXPECT_THAT(e.err, HasSubstr("error: precision fp16 is of CUDA devices alone: processors have no "
                               "fast products in it; take fp32 or bf16"));
}

// --dtype reaches the products of a one-off training too.
class TrainPrecision : public Run {};
TEST_F(TrainPrecision, ChangesTheLoss) {
  std::vector<double> losses;
  for (const char* dtype : {"fp32", "bf16"}) {
    const Ended e =
        pesuite({"train", "--encoding",  "none", "--task",         "toylag", "--model-size",
                 "micro", "--max-steps", "4",    "--log-interval", "4",      "--length",
                 "32",    "--device",    "cpu",  "--threads",      "1",      "--output-dir",
                 dtype,   "--dtype",     dtype});
    if (e.code == 6) GTEST_SKIP() << e.err;  // a processor without bf16
    ASSERT_EQ(e.code, 0) << e.err;
    for (const auto& item : fs::directory_iterator(folder_ / dtype / "logs"))
      if (item.path().filename().string().starts_with("metrics"))
        losses.push_back(Json::parse(slurp(item.path())).back()["train_loss"]);
  }
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_NE(losses[0], losses[1]);
  EXPECT_NEAR(losses[0], losses[1], 0.05 * losses[0]);
}

}  // namespace
}  // namespace pesuite::testing
