#include "sandbox/app/shell_tools.hpp"

#include <nlohmann/json.hpp>

#include "common/base/files.hpp"
#include "sandbox/core/shell_script.hpp"
#include "sandbox/core/text.hpp"

namespace swage::sandbox {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kMaxBackground = 32;
constexpr auto kGrepTime = std::chrono::seconds(20);

bool write_plainly(const fs::path& path, std::string_view content) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return false;
  const bool wrote = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  return (std::fclose(file) == 0) && wrote;
}

/// Waits for the end of a command. False: `control` asked first, and it was killed.
Task<bool> wait_for_end(std::shared_ptr<ShellJob> job, std::shared_ptr<CallControl> control) {
  while (!job->status && !control->stop.stopping()) co_await job->changed.wait(control->stop);
  const bool ended = job->status.has_value();
  if (!ended) {
    ShellJobs::kill(*job);
    StopSource never;
    while (!job->status) co_await job->changed.wait(never);
  }
  // Processes it left behind may hold the pipe for ever: only what is there by now is its output.
  ShellJobs::drain(*job);
  co_return ended;
}

std::vector<std::string> grep_argv(const json& arguments, const std::string& place) {
  std::vector<std::string> argv{"/usr/bin/rg", "--no-config", "--color=never", "--sort=path"};
  const auto mode = arguments.value("output_mode", "files_with_matches");
  if (mode == "files_with_matches") argv.emplace_back("--files-with-matches");
  if (mode == "count") argv.emplace_back("--count-matches");
  if (mode == "content") {
    argv.emplace_back(arguments.value("-n", false) ? "--line-number" : "--no-line-number");
    for (const char* flag : {"-A", "-B", "-C"})
      if (arguments.contains(flag))
        argv.push_back(flag + std::to_string(arguments.at(flag).get<int>()));
  }
  if (arguments.value("-i", false)) argv.emplace_back("--ignore-case");
  if (arguments.value("multiline", false))
    for (const char* flag : {"--multiline", "--multiline-dotall"}) argv.emplace_back(flag);
  if (arguments.contains("glob"))
    argv.push_back("--glob=" + arguments.at("glob").get<std::string>());
  if (arguments.contains("type"))
    argv.push_back("--type=" + arguments.at("type").get<std::string>());
  argv.push_back("--regexp=" + arguments.at("pattern").get<std::string>());
  argv.emplace_back("--");
  argv.push_back(place);
  return argv;
}

std::string first_lines(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  while (count > 0 && at < text.size()) {
    const auto end = text.find('\n', at);
    at = end == std::string_view::npos ? text.size() : end + 1;
    --count;
  }
  return std::string(text.substr(0, at));
}

}  // namespace

ShellTools::ShellTools(ShellJobs& jobs, ShellSettings settings)
    : jobs_(jobs), settings_(std::move(settings)) {}

ShellTools::Started ShellTools::start_shell(const std::string& command, bool background) {
  // Background commands may read their file late, so each has one of its own.
  const auto& place = settings_.state_directory;
  const auto file = place / (background ? "command-" + std::to_string(commands_) : "command");
  if (!write_plainly(file, command))
    return tl::unexpected(
        std::string("The command cannot be kept: the disk space of the sandbox is used up; remove "
                    "files in /tmp with a shorter command."));
  const auto out = background ? std::string() : (place / "state.new").string();
  return jobs_.start({"/bin/bash", "--noprofile", "--norc", "-c", std::string(shell_script()),
                      "bash", (place / "state").string(), file.string(), out},
                     settings_.environment, settings_.roots.work);
}

void ShellTools::keep_state() {
  const auto fresh = settings_.state_directory / "state.new";
  const auto content = read_file(fresh);
  std::error_code ignored;
  if (content && content->ends_with(std::string(kStateComplete) + "\n"))
    fs::rename(fresh, settings_.state_directory / "state", ignored);
}

ToolAnswer ShellTools::start_background(const std::string& command) {
  if (background_.size() >= kMaxBackground)
    return {false, "There are already 32 background commands; run this one in the foreground."};
  ++commands_;
  const auto job = start_shell(command, true);
  if (!job) return {false, job.error()};
  const auto id = "bash_" + std::to_string(commands_);
  background_[id] = *job;
  return {true, "Started in the background as " + id + ". Read it with BashOutput."};
}

Task<ToolAnswer> ShellTools::bash(json arguments, std::shared_ptr<CallControl> control) {
  const auto command = arguments.at("command").get<std::string>();
  if (arguments.value("run_in_background", false)) co_return start_background(command);
  const auto job = start_shell(command, false);
  if (!job) co_return ToolAnswer{false, job.error()};
  const bool ended = co_await wait_for_end(*job, control);
  auto output = (*job)->output.take();
  ShellAnswer answer;
  if (ended) {
    keep_state();
    answer = shell_answer(std::move(output), *(*job)->status);
  } else if (control->why == EndTool::Why::timeout) {
    answer = shell_timeout(std::move(output), arguments.value("timeout", 120'000U));
  } else {
    answer = shell_cancelled(std::move(output));
  }
  co_return ToolAnswer{answer.ok, std::move(answer.text)};
}

Task<ToolAnswer> ShellTools::grep(json arguments, std::shared_ptr<CallControl> control) {
  const auto place = resolve_path(arguments.value("path", settings_.roots.work), settings_.roots);
  if (!place) co_return ToolAnswer{false, place.error()};
  const auto job = jobs_.start(grep_argv(arguments, place->absolute), settings_.environment,
                               settings_.roots.work);
  if (!job) co_return ToolAnswer{false, job.error()};
  asio::steady_timer timer(co_await asio::this_coro::executor, kGrepTime);
  timer.async_wait([control](const boost::system::error_code& cancelled) {
    if (!cancelled) control->stop.request(StopReason::deadline);
  });
  const bool ended = co_await wait_for_end(*job, control);
  timer.cancel();
  auto output = (*job)->output.take();
  if (!ended) co_return ToolAnswer{false, "The search took too long; narrow path or glob."};
  const auto status = *(*job)->status;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 1) co_return ToolAnswer{true, "(No match.)"};
  if (arguments.contains("head_limit"))
    output = first_lines(output, arguments.at("head_limit").get<std::size_t>());
  co_return ToolAnswer{status == 0, std::move(output)};
}

std::string ShellTools::unknown_id(const std::string& id) const {
  std::string known;
  for (const auto& [name, job] : background_) known += (known.empty() ? "" : ", ") + name;
  return "There is no background command `" + id.substr(0, 64) + "`; " +
         (known.empty() ? "none was started." : "there are: " + known + ".");
}

ToolAnswer ShellTools::bash_output(const json& arguments) {
  const auto id = arguments.at("bash_id").get<std::string>();
  const auto found = background_.find(id);
  if (found == background_.end()) return {false, unknown_id(id)};
  const auto filter = arguments.value("filter", "");
  if (!is_filter(filter))  // before anything is taken: the next call may still see it
    return {false,
            "The filter is not a valid regular expression; nothing was read. Mend it or "
            "leave it out."};
  auto& job = *found->second;
  if (job.status) ShellJobs::drain(job);
  auto output = job.output.take();
  if (!filter.empty()) output = filter_lines(output, filter);
  if (!output.empty() && !output.ends_with('\n')) output += '\n';
  return {true,
          output + "[" + (job.status ? "ended, " + describe_end(*job.status) : "running") + "]"};
}

ToolAnswer ShellTools::kill_bash(const json& arguments) {
  const auto id = arguments.at("shell_id").get<std::string>();
  const auto found = background_.find(id);
  if (found == background_.end()) return {false, unknown_id(id)};
  if (found->second->status)
    return {false, id + " has already ended (" + describe_end(*found->second->status) + ")."};
  ShellJobs::kill(*found->second);
  return {true, "Ended " + id + "."};
}

}  // namespace swage::sandbox
