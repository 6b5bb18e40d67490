#include "plan/formats.h"

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"

namespace pesuite {

namespace {

std::vector<PlannedCell> all_of(const Plan& plan) {
  std::vector<PlannedCell> all = plan.cells;
  all.insert(all.end(), plan.trunks.begin(), plan.trunks.end());
  return all;
}

std::vector<std::string> part(const PlanCommand& c, const std::string& shard) {
  std::vector<std::string> words = c.run;
  words.insert(words.end(), {"--no-report", "--progress", "plain", "--shard", shard});
  return words;
}

std::string as_commands(const PlanCommand& c, int parts) {
  std::string out;
  for (int i = 1; i <= parts; ++i)
    out += shell_line(part(c, fmt::format("{}/{}", i, parts))) + "\n";
  return out + "# when all are over: " + shell_line(c.report) + "\n";
}

// Make reads $ itself.
std::string for_make(std::string line) {
  return boost::replace_all_copy(std::move(line), "$", "$$");
}
std::string as_make(const PlanCommand& c, int parts) {
  std::string targets;
  for (int i = 1; i <= parts; ++i) targets += fmt::format(" part-{}", i);
  std::string out = fmt::format(
      "# The suite {} in {} parts: make -j N. Nothing is done twice.\n"
      ".PHONY: report{}\n"
      "report:{}\n\t{}\n",
      c.suite, parts, targets, targets, for_make(shell_line(c.report)));
  for (int i = 1; i <= parts; ++i)
    out += fmt::format("part-{}:\n\t-{}\n", i,  // a cell that fails is a record
                       for_make(shell_line(part(c, fmt::format("{}/{}", i, parts)))));
  return out;
}

std::string python_text(const std::string& s) {
  return Json(s).dump();
}
// Snakemake formats braces.
std::string for_snakemake(const std::string& line) {
  return python_text(boost::replace_all_copy(boost::replace_all_copy(line, "{", "{{"), "}", "}}"));
}
std::string as_snakemake(const PlanCommand& c, int parts) {
  const std::string line =
      boost::replace_all_copy(for_snakemake(shell_line(part(c, "@PART@")) + " || [ $? = 3 ]"),
                              "@PART@", fmt::format("{{wildcards.part}}/{}", parts));
  return fmt::format(
      "# The suite {0} in {1} parts: snakemake --cores N --keep-going\n"
      "localrules: report\n\n"
      "rule report:\n"
      "    input: expand(\".pesuite/{0}-{{part}}.done\", part=range(1, {1} + 1))\n"
      "    shell: {2}\n\n"
      "rule part:\n"
      "    output: touch(\".pesuite/{0}-{{part}}.done\")\n"
      "    threads: {3}\n"
      "    shell: {4}\n",
      file_name_of(c.suite), parts, for_snakemake(shell_line(c.report)), c.threads, line);
}

// A name as Kubernetes wants it.
std::string dns_name(const std::string& name) {
  std::string out;
  for (const char ch : name)
    out += (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') ? ch
           : ch >= 'A' && ch <= 'Z'                             ? static_cast<char>(ch - 'A' + 'a')
                                                                : '-';
  out = out.substr(0, 40);
  while (out.starts_with('-')) out.erase(0, 1);
  while (out.ends_with('-')) out.pop_back();
  return out.empty() ? "suite" : out;
}
std::string as_kubernetes(const PlanCommand& c, int parts) {
  PlanCommand there = c;
  there.run = c.portable, there.report[0] = "pesuite";
  there.report.back() = c.portable.back();
  const std::string line =
      boost::replace_all_copy(shell_line(part(there, "@PART@")), "@PART@",
                              fmt::format("$((JOB_COMPLETION_INDEX + 1))/{}", parts));
  return fmt::format(
      "# The suite {0} in {1} parts: kubectl apply -f FILE. `pesuite` is the image of the\n"
      "# Containerfile; the claim `results` is a shared volume, mounted where the parts run.\n"
      "# When the job is over, in a pod of the same image and volume: {2}\n"
      "apiVersion: batch/v1\n"
      "kind: Job\n"
      "metadata:\n"
      "  name: pesuite-{3}\n"
      "spec:\n"
      "  completionMode: Indexed\n"
      "  completions: {1}\n"
      "  parallelism: {1}\n"
      "  backoffLimitPerIndex: 3\n"
      "  podFailurePolicy:\n"
      "    rules:\n"
      "      - action: Ignore  # pre-empted, with a checkpoint: it starts again\n"
      "        onExitCodes: {{containerName: part, operator: In, values: [75, 143]}}\n"
      "  template:\n"
      "    spec:\n"
      "      restartPolicy: Never\n"
      "      terminationGracePeriodSeconds: 120\n"
      "      containers:\n"
      "        - name: part\n"
      "          image: pesuite\n"
      "          workingDir: /results\n"
      "          command: [\"/bin/sh\", \"-c\", {4}]\n"
      "          resources: {{requests: {{cpu: \"{5}\"}}}}\n"
      "          volumeMounts: [{{name: results, mountPath: /results}}]\n"
      "      volumes:\n"
      "        - name: results\n"
      "          persistentVolumeClaim: {{claimName: results}}\n",
      c.suite, parts, shell_line(there.report), dns_name(c.suite), python_text("exec " + line),
      c.threads);
}

// ---------------------------------------------------------------------------------------- Slurm

std::string slurm_time(double seconds) {
  const auto minutes = static_cast<std::int64_t>(std::ceil(seconds / 60));
  return fmt::format("{}-{:02}:{:02}:00", minutes / 1440, minutes / 60 % 24, minutes % 60);
}

struct StageLoad {
  int trainings = 0, tasks = 1;
  double seconds = 0, memory = 0;  // of the longest task, and of the largest cell
};
StageLoad load_of(const std::vector<PlannedCell>& all, int stage, const SlurmOptions& o) {
  const std::vector<int> stages = stages_of(all);
  std::set<std::string> trainings;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (stages[i] == stage) trainings.insert(all[i].training);
  StageLoad load;
  load.trainings = static_cast<int>(trainings.size());
  const int wanted = (load.trainings + o.cells_per_task - 1) / o.cells_per_task;
  load.tasks = std::clamp(wanted, 1, o.largest_array);
  std::vector<double> seconds(static_cast<std::size_t>(load.tasks), 0);
  std::map<std::string, std::size_t> ordinals;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (stages[i] != stage) continue;
    const std::size_t at = ordinals.try_emplace(all[i].training, ordinals.size()).first->second;
    seconds[at % seconds.size()] += all[i].seconds;
    load.memory = std::max(load.memory, all[i].memory);
  }
  load.seconds = *std::max_element(seconds.begin(), seconds.end());
  return load;
}

std::string directives(const std::string& name, const SlurmOptions& o, const std::string& time) {
  std::string out = fmt::format("#!/bin/bash\n#SBATCH --job-name={}\n", name);
  const auto line = [&](const char* flag, const std::string& value) {
    if (!value.empty()) out += fmt::format("#SBATCH --{}={}\n", flag, value);
  };
  line("partition", o.partition), line("account", o.account), line("time", time);
  for (const std::string& word : o.extra) out += fmt::format("#SBATCH {}\n", word);
  return out;
}

// Slurm sends the warning to the batch shell alone, which passes it on and waits for a checkpoint.
// It requeues by exit code only where its administrator says so.
constexpr const char* body_of_a_task = R"(
{} &
child=$!
trap 'kill -USR1 $child 2>/dev/null' USR1
trap 'kill -TERM $child 2>/dev/null' TERM
code=0
wait $child || code=$?
while kill -0 $child 2>/dev/null; do wait $child && code=0 || code=$?; done
if [ $code = 75 ]; then scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_${{SLURM_ARRAY_TASK_ID}}"; fi
exit $code
)";

std::string stage_script(const std::vector<PlannedCell>& all, const PlanCommand& c, int stage,
                         const SlurmOptions& o) {
  const StageLoad load = load_of(all, stage, o);
  // an estimate is no promise
  const std::string time = o.time.empty() ? slurm_time(std::max(600.0, 3 * load.seconds)) : o.time;
  std::string out = directives(fmt::format("{}-stage{}", c.suite, stage), o, time);
  out += fmt::format("#SBATCH --array=1-{}\n#SBATCH --cpus-per-task={}\n", load.tasks, c.threads);
  if (o.memory == "auto")
    out += fmt::format("#SBATCH --mem={}M\n",
                       static_cast<std::int64_t>(1024 + 1.5 * load.memory / 1048576));
  else if (!o.memory.empty())
    out += fmt::format("#SBATCH --mem={}\n", o.memory);
  if (!o.gres.empty()) out += fmt::format("#SBATCH --gres={}\n", o.gres);
  out += fmt::format(
      "#SBATCH --requeue\n#SBATCH --signal=B:USR1@120\n#SBATCH --open-mode=append\n"
      "#SBATCH --output={}/logs/%x-%a.log\n\n"
      "# Stage {} of the suite {}: {} in {}.\ncd {} || exit 5\n",
      o.folder, stage, c.suite, counted(static_cast<std::size_t>(load.trainings), "training"),
      counted(static_cast<std::size_t>(load.tasks), "task"), shell_line({o.working_directory}));
  std::vector<std::string> words = part(c, "@PART@");
  words.insert(words.end(), {"--stage", std::to_string(stage), "--jobs", "1"});
  const std::string line = boost::replace_all_copy(
      shell_line(words), "@PART@", fmt::format("\"$SLURM_ARRAY_TASK_ID\"/{}", load.tasks));
  return out + fmt::format(fmt::runtime(body_of_a_task), line);
}

std::string submit_script(int stages) {
  std::string out =
      "#!/bin/bash\n# Hands the stages to Slurm, each behind the one before, then the report.\n"
      "set -euo pipefail\ncd \"$(dirname \"$0\")\"\nmkdir -p logs\njobs=()\nafter=()\n";
  for (int k = 0; k < stages; ++k)
    out += fmt::format(
        "job=$(sbatch --parsable \"${{after[@]}}\" stage-{0}.sbatch)\n"
        "echo \"stage {0}: job $job\"\nafter=(\"--dependency=afterany:${{job%%;*}}\")\n",
        k);
  return out +
         "job=$(sbatch --parsable \"${after[@]}\" report.sbatch)\necho \"report: job $job\"\n";
}

}  // namespace

std::string shell_line(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) {
    const bool plain = !w.empty() && w.find_first_not_of(
                                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789_-+=:,./@%") == std::string::npos;
    out += (out.empty() ? "" : " ") +
           (plain ? w : "'" + boost::replace_all_copy(w, "'", "'\\''") + "'");
  }
  return out;
}

int parts_of(const Plan& plan, int most) {
  std::set<std::string> trainings;
  for (const PlannedCell& c : plan.cells) trainings.insert(c.training);
  return std::clamp(static_cast<int>(trainings.size()), 1, most);
}

std::vector<std::string> plan_formats() {
  return {"commands", "make", "snakemake", "kubernetes"};
}

std::string plan_as(const std::string& format, const PlanCommand& c, int parts) {
  return format == "commands"    ? as_commands(c, parts)
         : format == "make"      ? as_make(c, parts)
         : format == "snakemake" ? as_snakemake(c, parts)
                                 : as_kubernetes(c, parts);
}

std::vector<std::pair<std::string, std::string>> slurm_scripts(const Plan& plan,
                                                               const PlanCommand& c,
                                                               const SlurmOptions& o) {
  const std::vector<PlannedCell> all = all_of(plan);
  const std::vector<int> stages = stages_of(all);
  const int count = all.empty() ? 0 : *std::max_element(stages.begin(), stages.end()) + 1;
  std::vector<std::pair<std::string, std::string>> files;
  for (int k = 0; k < count; ++k)
    files.emplace_back(fmt::format("stage-{}.sbatch", k), stage_script(all, c, k, o));
  files.emplace_back(
      "report.sbatch",
      directives(c.suite + "-report", o, "") +
          fmt::format("#SBATCH --output={}/logs/%x.log\n\ncd {} || exit 5\nexec {}\n", o.folder,
                      shell_line({o.working_directory}), shell_line(c.report)));
  files.emplace_back("submit.sh", submit_script(count));
  return files;
}

}  // namespace pesuite
