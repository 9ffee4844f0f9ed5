#include "cli/app/api_call.hpp"

#include "cli/core/problem_text.hpp"
#include "common/asio/root.hpp"

namespace swage::cli {
namespace {

using namespace std::chrono_literals;

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

}  // namespace

Result<nlohmann::json, std::string> ask_json(const HttpTarget& target, const std::string& method,
                                             const std::string& path, const std::string& body) {
  const auto answer = ask(target, method, path, body);
  if (!answer) return tl::unexpected(answer.error());
  auto json = nlohmann::json::parse(answer->body, nullptr, false);
  if (answer->status >= 400)
    return tl::unexpected(problem_text(answer->status, json, !target.token.empty()));
  if (json.is_discarded()) return tl::unexpected(std::string("the answer is not JSON"));
  return json;
}

}  // namespace swage::cli
