#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

#include "common/base/strong_id.hpp"

namespace swage {

enum class LogLevel { debug, info, warning, error };

/// One named value of a log line.
struct LogField {
  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const std::string& v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  template <class Tag>
  LogField(std::string_view k, const StrongId<Tag>& v) : key(k), value(v.str()) {}
  LogField(std::string_view k, bool v) : key(k), value(v ? "true" : "false") {}
  template <class Number>
    requires std::integral<Number> || std::floating_point<Number>
  LogField(std::string_view k, Number v) : key(k), value(std::to_string(v)) {}

  std::string_view key;
  std::string value;
};

struct LogSettings {
  LogLevel level = LogLevel::info;
  bool json = false;    ///< one JSON object a line, for pods; else text, coloured on a terminal
  std::string process;  ///< stands in every line
};

/// Called once by main before other threads start. Lines go to stderr.
void configure_log(const LogSettings& settings);

/// "debug", "info", "warning", "error"; anything else is info.
LogLevel log_level_from(std::string_view name);

using LogFields = std::initializer_list<LogField>;

/// One line with fields; thread-safe. Every warning and error has a counter beside it.
void log_debug(std::string_view text, LogFields fields = {});
void log_info(std::string_view text, LogFields fields = {});
void log_warning(std::string_view text, LogFields fields = {});
void log_error(std::string_view text, LogFields fields = {});

}  // namespace swage
