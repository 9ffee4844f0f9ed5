#include "common/config/process_config.hpp"

#include <unistd.h>

#include <utility>

#include "common/base/json_text.hpp"

namespace swage {
namespace {

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

Result<ProcessConfig, ConfigError> read_process_config(const std::filesystem::path& file,
                                                       const std::function<void(Fields&)>& own) {
  const auto content = read_file(file);
  if (!content) return tl::unexpected(ConfigError{{content.error().message}});
  nlohmann::json parsed;
  try {
    parsed = nlohmann::json::parse(*content);
  } catch (const nlohmann::json::parse_error& e) {
    return tl::unexpected(ConfigError{{file.string() + ": not JSON: " + e.what()}});
  }
  ConfigError error;
  Fields fields(parsed, "", [&](const std::string& path, const std::string& what) {
    error.complaints.push_back(file.string() + ": " + path + " " + what);
  });
  ProcessConfig out;
  fields.require("name", "the process's name");
  out.name = fields.text("name", "");
  out.run = fields.text("run", "");
  out.run_uid = fields.text("run_uid", "");
  out.listen = fields.text("listen", "");
  out.http = fields.text("http", "");
  out.ready_file = fields.text("ready_file", "");
  out.token_file = fields.text("token_file", "");
  auto log = fields.object("log");
  out.log_level =
      log_level_from(log.one_of("level", {"debug", "info", "warning", "error"}, "info"));
  out.log_json = log.one_of("format", {"text", "json"}, "text") == "json";
  log.finish();
  own(fields);
  fields.finish();
  if (!out.token_file.empty()) {
    auto token = read_file(out.token_file);
    if (token) {
      out.token = trimmed(std::move(*token));
    } else {
      error.complaints.push_back(file.string() + ": token_file: " + token.error().message);
    }
  }
  if (!error.complaints.empty()) return tl::unexpected(std::move(error));
  return out;
}

Result<void, FileError> write_ready_file(const std::filesystem::path& file, int http_port) {
  if (file.empty()) return {};
  const nlohmann::json content{{"pid", ::getpid()}, {"http_port", http_port}};
  return write_file_durably(file, json_text(content) + "\n");
}

}  // namespace swage
