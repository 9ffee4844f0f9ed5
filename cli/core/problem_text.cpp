#include "cli/core/problem_text.hpp"

namespace swage::cli {

std::string problem_text(int status, const nlohmann::json& body, bool had_token) {
  if (status == 401 || status == 403)
    return std::string(had_token ? "the server refuses this token"
                                 : "the server wants a token and none was given") +
           ": set SWAGE_TOKEN to what secrets/token in the run's directory holds (in a cluster: "
           "the Secret swage-internal)";
  const auto text = [&body](const char* name) {
    const auto found = body.is_object() ? body.find(name) : body.end();
    return body.is_object() && found != body.end() && found->is_string() ? found->get<std::string>()
                                                                         : std::string();
  };
  const auto title = text("title");
  const auto detail = text("detail");
  if (title.empty() && detail.empty())
    return "the server answered with status " + std::to_string(status);
  return title + (title.empty() || detail.empty() ? "" : ": ") + detail;
}

}  // namespace swage::cli
