#include "common/http/router.hpp"

#include <optional>
#include <utility>

#include "common/base/digest.hpp"

namespace swage {
namespace {

std::vector<std::string_view> segments(std::string_view path) {
  std::vector<std::string_view> out;
  while (!path.empty()) {
    if (path.front() == '/') path.remove_prefix(1);
    const auto cut = path.find('/');
    out.push_back(path.substr(0, cut));
    if (cut == std::string_view::npos) break;
    path.remove_prefix(cut);
  }
  return out;
}

bool fits(const std::string& pattern, const std::string& path,
          std::map<std::string, std::string>& params) {
  const auto want = segments(pattern);
  const auto have = segments(path);
  if (want.size() != have.size()) return false;
  std::map<std::string, std::string> found;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (want[i].size() > 2 && want[i].front() == '{') {
      if (have[i].empty()) return false;
      found.emplace(want[i].substr(1, want[i].size() - 2), have[i]);
    } else if (want[i] != have[i]) {
      return false;
    }
  }
  params = std::move(found);
  return true;
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const auto byte = i + 2 < text.size() ? from_hex(text.substr(i + 1, 2)) : std::string();
      if (byte.size() != 1) return std::nullopt;
      out += byte;
      i += 2;
    } else {
      out.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
    }
  }
  return out;
}

}  // namespace

void HttpRouter::get(std::string path, HttpHandler handler, bool open) {
  routes_.push_back({"GET", std::move(path), open, std::move(handler), nullptr});
}

void HttpRouter::post(std::string path, HttpHandler handler) {
  routes_.push_back({"POST", std::move(path), false, std::move(handler), nullptr});
}

void HttpRouter::events(std::string path, EventHandler handler, EventRefusal refuse) {
  routes_.push_back({"GET", std::move(path), false, std::move(handler), std::move(refuse)});
}

HttpRouter::Match HttpRouter::match(HttpRequest& request) const {
  Match out;
  for (const auto& route : routes_) {
    if (!fits(route.path, request.path, request.params)) continue;
    if (route.method == request.method) return {Found::yes, &route};
    out.found = Found::wrong_method;
  }
  return out;
}

bool parse_target(std::string_view target, HttpRequest& request) {
  const auto cut = target.find('?');
  const auto path = percent_decoded(target.substr(0, cut), false);
  if (!path || path->empty() || path->front() != '/') return false;
  request.path = *path;
  auto rest = cut == std::string_view::npos ? std::string_view() : target.substr(cut + 1);
  while (!rest.empty()) {
    const auto end = rest.find('&');
    const auto pair = rest.substr(0, end);
    const auto equals = pair.find('=');
    const auto name = percent_decoded(pair.substr(0, equals), true);
    const auto value = percent_decoded(
        equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), true);
    if (!name || !value) return false;
    if (!name->empty()) request.query[*name] = *value;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace swage
