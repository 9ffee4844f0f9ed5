#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/base/json_text.hpp"

namespace swage {

/// One HTTP request as a handler sees it. Header names are lower case.
struct HttpRequest {
  std::string method;                        ///< `GET`, `POST`, …
  std::string path;                          ///< decoded, without the query
  std::map<std::string, std::string> query;  ///< decoded; the last of equal names
  std::map<std::string, std::string> headers;
  std::map<std::string, std::string> params;  ///< what `{name}` in the route matched
  std::string body;                           ///< at most 1 MiB
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;

  static HttpResponse json(const nlohmann::json& value, int status = 200) {
    return {status, "application/json", json_text(value) + "\n", {}};
  }
  static HttpResponse text(std::string body, int status = 200) {
    return {status, "text/plain; charset=utf-8", std::move(body), {}};
  }
  /// A problem object (RFC 9457). detail: what is wrong and what to do.
  static HttpResponse problem(int status, const std::string& title, const std::string& detail) {
    const nlohmann::json value{
        {"type", "about:blank"}, {"status", status}, {"title", title}, {"detail", detail}};
    return {status, "application/problem+json", json_text(value) + "\n", {}};
  }
};

}  // namespace swage
