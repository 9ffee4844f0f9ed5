#include "cli/app/api_call.hpp"

#include "cli/core/problem_text.hpp"
#include "common/asio/root.hpp"

namespace swage::cli {
namespace {

using namespace std::chrono_literals;

constexpr int kElsewhere = 307;

Result<HttpResponse, std::string> ask(const HttpTarget& target, const std::string& method,
                                      const std::string& path, const std::string& body) {
  Result<HttpResponse, std::string> answer = tl::unexpected(std::string("not asked"));
  struct Ask {
    static Task<int> run(HttpTarget at, std::string verb, std::string where, std::string content,
                         StopSource& stop, Result<HttpResponse, std::string>& out) {
      out = co_await http_request(at, verb, where, content, std::chrono::steady_clock::now() + 30s,
                                  stop);
      co_return 0;
    }
  };
  run_root([&](asio::any_io_executor,
               StopSource& stop) { return Ask::run(target, method, path, body, stop, answer); },
           5s);
  return answer;
}

/// A controller that does not lead names the one that does: `location` is the same request there.
Result<HttpResponse, std::string> ask_leader(const HttpResponse& answer, const HttpTarget& target,
                                             const std::string& method, const std::string& body) {
  std::string location;
  for (const auto& [name, value] : answer.headers)
    if (name == "location") location = value;
  const auto scheme = location.find("://");
  const auto path = scheme == std::string::npos ? scheme : location.find('/', scheme + 3);
  auto leader = parse_http_url(location.substr(0, path));
  if (!leader || path == std::string::npos)
    return tl::unexpected(
        "this controller does not lead, and where the leader is makes no sense: `" + location +
        "`");
  leader->token = target.token;
  return ask(*leader, method, location.substr(path), body);
}

}  // namespace

Result<nlohmann::json, std::string> ask_json(const HttpTarget& target, const std::string& method,
                                             const std::string& path, const std::string& body) {
  auto answer = ask(target, method, path, body);
  if (answer && answer->status == kElsewhere) answer = ask_leader(*answer, target, method, body);
  if (!answer) return tl::unexpected(answer.error());
  if (answer->status == kElsewhere)
    return tl::unexpected(std::string("the leader is changing; try again in a moment"));
  auto json = nlohmann::json::parse(answer->body, nullptr, false);
  if (answer->status >= 400)
    return tl::unexpected(problem_text(answer->status, json, !target.token.empty()));
  if (json.is_discarded()) return tl::unexpected(std::string("the answer is not JSON"));
  return json;
}

}  // namespace swage::cli
