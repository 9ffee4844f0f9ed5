#include "sandbox/core/runner_messages.hpp"

#include <nlohmann/json.hpp>

#include "common/base/json_text.hpp"
#include "sandbox/core/base64.hpp"

namespace swage::sandbox {
namespace {

using nlohmann::json;

json to_json(const RunTool& m) {
  return {{"op", "tool"}, {"id", m.id}, {"name", m.name}, {"arguments", m.arguments_json}};
}
json to_json(const EndTool& m) {
  return {{"op", "end"},
          {"id", m.id},
          {"why", m.why == EndTool::Why::timeout ? "timeout" : "cancelled"}};
}
json to_json(const CollectFiles& m) { return {{"op", "collect"}, {"id", m.id}}; }
json to_json(const RunnerReady&) { return {{"op", "ready"}}; }
json to_json(const RunnerFailed& m) { return {{"op", "failed"}, {"why", m.why}}; }
json to_json(const ToolDone& m) {
  return {{"op", "done"}, {"id", m.id}, {"ok", m.ok}, {"text", m.text}, {"digest", m.digest}};
}
json to_json(const FilesCollected& m) {
  auto files = json::array();
  for (const auto& file : m.files)
    files.push_back(
        {{"path", file.path}, {"mode", file.mode}, {"content", base64_encode(file.content)}});
  return {{"op", "files"}, {"id", m.id}, {"problem", m.problem}, {"files", std::move(files)}};
}

template <class Variant>
std::string encode_any(const Variant& message) {
  return std::visit([](const auto& m) { return json_text(to_json(m)); }, message);
}

WorkFile file_from(const json& value) {
  return {value.at("path").get<std::string>(), value.at("mode").get<std::uint32_t>() & 0777U,
          base64_decode(value.at("content").get_ref<const std::string&>())};
}

ToRunner to_runner_from(const json& value) {
  const auto op = value.at("op").get<std::string>();
  const auto id = value.at("id").get<std::uint64_t>();
  if (op == "tool")
    return RunTool{id, value.at("name").get<std::string>(),
                   value.at("arguments").get<std::string>()};
  if (op == "end")
    return EndTool{value.at("why") == "timeout" ? EndTool::Why::timeout : EndTool::Why::cancelled,
                   id};
  if (op == "collect") return CollectFiles{id};
  throw std::invalid_argument("unknown message " + op);
}

FromRunner from_runner_from(const json& value) {
  const auto op = value.at("op").get<std::string>();
  if (op == "ready") return RunnerReady{};
  if (op == "failed") return RunnerFailed{value.at("why").get<std::string>()};
  const auto id = value.at("id").get<std::uint64_t>();
  if (op == "done")
    return ToolDone{id, value.at("ok").get<bool>(), value.at("text").get<std::string>(),
                    value.at("digest").get<std::string>()};
  if (op != "files") throw std::invalid_argument("unknown message " + op);
  FilesCollected out{id, {}, value.at("problem").get<std::string>()};
  for (const auto& file : value.at("files")) out.files.push_back(file_from(file));
  return out;
}

template <class Message, class Read>
Result<Message, std::string> decode_any(std::string_view text, Read read) {
  try {
    return read(json::parse(text));
  } catch (const std::exception& e) {
    return tl::unexpected(std::string(e.what()));
  }
}

}  // namespace

std::string encode(const ToRunner& message) { return encode_any(message); }
std::string encode(const FromRunner& message) { return encode_any(message); }

Result<ToRunner, std::string> decode_to_runner(std::string_view text) {
  return decode_any<ToRunner>(text, to_runner_from);
}
Result<FromRunner, std::string> decode_from_runner(std::string_view text) {
  return decode_any<FromRunner>(text, from_runner_from);
}

}  // namespace swage::sandbox
