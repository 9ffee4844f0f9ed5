#include "common/log/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "common/base/json_text.hpp"
#include "common/base/time.hpp"

namespace swage {
namespace {

/// The process's one logger. A global, because a log line may come from anywhere; it holds no state
/// that any decision reads.
struct Log {
  std::shared_ptr<spdlog::logger> logger = make("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
  bool json = false;
  std::string process;

  static std::shared_ptr<spdlog::logger> make(const char* pattern) {
    auto made = std::make_shared<spdlog::logger>(
        "swage", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern(pattern);
    made->flush_on(spdlog::level::info);
    return made;
  }
};

Log& the_log() {
  static Log log;
  return log;
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

const char* name_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
  }
  return "info";
}

void write(LogLevel level, std::string_view text, LogFields fields) {
  auto& log = the_log();
  const auto at = to_spdlog(level);
  if (!log.logger->should_log(at)) return;
  if (log.json) {
    nlohmann::ordered_json line{{"unix_ms", unix_ms()},
                                {"level", name_of(level)},
                                {"process", log.process},
                                {"text", text}};
    for (const auto& field : fields) line[std::string(field.key)] = field.value;
    log.logger->log(at, "{}", json_text(line));
    return;
  }
  std::string line = log.process.empty() ? std::string() : "[" + log.process + "] ";
  line += text;
  for (const auto& field : fields) line += " " + std::string(field.key) + "=" + field.value;
  log.logger->log(at, "{}", line);
}

}  // namespace

void configure_log(const LogSettings& settings) {
  auto& log = the_log();
  log.json = settings.json;
  log.process = settings.process;
  if (settings.json) log.logger = Log::make("%v");
  log.logger->set_level(to_spdlog(settings.level));
}

LogLevel log_level_from(std::string_view name) {
  if (name == "debug") return LogLevel::debug;
  if (name == "warning") return LogLevel::warning;
  if (name == "error") return LogLevel::error;
  return LogLevel::info;
}

void log_debug(std::string_view text, LogFields fields) { write(LogLevel::debug, text, fields); }
void log_info(std::string_view text, LogFields fields) { write(LogLevel::info, text, fields); }
void log_warning(std::string_view text, LogFields fields) {
  write(LogLevel::warning, text, fields);
}
void log_error(std::string_view text, LogFields fields) { write(LogLevel::error, text, fields); }

}  // namespace swage
