#include "common/k8s/error.hpp"

#include <algorithm>

namespace swage::k8s {
namespace {

constexpr std::size_t kLongestMessage = 1000;

Errc code_of(int status) {
  switch (status) {
    case 401:
      return Errc::unauthorized;
    case 403:
      return Errc::forbidden;
    case 404:
      return Errc::not_found;
    case 409:
      return Errc::conflict;
    case 410:
      return Errc::gone;
    case 429:
      return Errc::throttled;
    default:
      return status >= 500 ? Errc::transport : Errc::invalid;
  }
}

std::string text(const Json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// `conflict with "kubectl" using v1` names the manager between its quotes.
void add_manager(Error& error, const std::string& message) {
  const auto begin = message.find('"');
  const auto end = message.find('"', begin + 1);
  if (begin == std::string::npos || end == std::string::npos) return;
  auto name = message.substr(begin + 1, end - begin - 1);
  if (std::ranges::find(error.managers, name) == error.managers.end())
    error.managers.push_back(std::move(name));
}

void read_details(Error& error, const Json& status) {
  const auto details = status.find("details");
  if (details == status.end() || !details->is_object()) return;
  if (const auto wait = details->find("retryAfterSeconds");
      wait != details->end() && wait->is_number_unsigned() && !error.retry_after)
    error.retry_after = std::chrono::seconds(std::min(wait->get<std::uint64_t>(), 3600UL));
  const auto causes = details->find("causes");
  if (causes == details->end() || !causes->is_array()) return;
  for (const auto& cause : *causes) {
    if (!cause.is_object()) continue;
    error.causes.push_back(text(cause, "reason"));
    if (error.causes.back() == "FieldManagerConflict") add_manager(error, text(cause, "message"));
  }
}

Error read(int status, const Json& body) {
  Error error{.code = code_of(status), .status = status};
  error.message = text(body, "message");
  error.reason = text(body, "reason");
  read_details(error, body);
  if (const auto metadata = body.find("metadata"); metadata != body.end() && metadata->is_object())
    error.continue_token = text(*metadata, "continue");
  return error;
}

}  // namespace

Error error_from(int status, const std::string& body, std::optional<std::chrono::seconds> wait) {
  const auto json = Json::parse(body, nullptr, false);
  Error error;
  if (json.is_object()) error = read(status, json);
  error.code = code_of(status);
  error.status = status;
  if (error.message.empty()) error.message = body.substr(0, kLongestMessage);
  if (wait) error.retry_after = wait;
  return error;
}

Error error_from_status(const Json& status) {
  if (!status.is_object())
    return {.code = Errc::transport, .message = "an ERROR event without a Status"};
  const auto code = status.find("code");
  const int number = code != status.end() && code->is_number_integer() ? code->get<int>() : 500;
  return read(number, status);
}

bool revision_is_ahead(const Error& error) {
  if (std::ranges::find(error.causes, "ResourceVersionTooLarge") != error.causes.end()) return true;
  // etcd's own error has no reason of its own: its text is all there is.
  return error.status >= 500 &&
         (error.message.find("future revision") != std::string::npos ||
          error.message.find("Too large resource version") != std::string::npos);
}

}  // namespace swage::k8s
