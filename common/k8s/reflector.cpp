#include "common/k8s/informer.hpp"
#include "common/log/log.hpp"

namespace swage::k8s {
namespace {

constexpr auto kListDeadline = std::chrono::seconds(60);
constexpr int kWorthAWarning = 3;

}  // namespace

Task<> Reflector::run(StopSource& stop) {
  while (!stop.stopping()) {
    const auto step = reflection_.next(client_.random());
    if (const auto* pause = std::get_if<Reflection::Wait>(&step))
      co_await client_.clock().sleep_for(pause->duration, stop);
    else if (const auto* page = std::get_if<Reflection::List>(&step))
      co_await list(*page, stop);
    else
      co_await watch(std::get<Reflection::Watch>(step), stop);
  }
}

Task<> Reflector::list(Reflection::List step, StopSource& stop) {
  if (step.continue_token.empty()) {
    ++counts_.lists;
    sink_.begin_list();
  }
  const auto page =
      co_await client_.list(target_, {selector_, step.resource_version, step.continue_token},
                            client_.clock().now() + kListDeadline, stop);
  const auto now = client_.clock().now();
  if (!page) {
    if (page.error().code == Errc::stopped) co_return;
    ++counts_.list_failures;
    failed("a list failed", page.error());
    reflection_.list_failed(page.error(), now, client_.random());
    co_return;
  }
  for (const auto& item : page->items) sink_.list_item(item);
  const auto outcome =
      reflection_.page(page->resource_version, page->continue_token, now, client_.random());
  if (outcome == Reflection::Page::complete) {
    sink_.end_list();
    sink_.progressed();
  }
}

void Reflector::failed(const char* what, const Error& error) {
  counts_.last_error = error.message;
  // A server's restart makes some of these for each type: only what lasts is worth a warning.
  const auto fields = {LogField("type", target_.type.plural), LogField("labels", selector_.labels),
                       LogField("status", error.status), LogField("why", error.message)};
  if (++failures_in_a_row_ < kWorthAWarning)
    log_info(what, fields);
  else
    log_warning(what, fields);
}

bool Reflector::on_line(const std::string& line, std::optional<Error>& problem) {
  const auto event = parse_watch_event(line);
  if (!event) {
    problem = event.error();
    return false;
  }
  if (event->type == WatchEvent::Type::error) {
    problem = error_from_status(event->object);
    return false;
  }
  if (event->type != WatchEvent::Type::bookmark) sink_.event(event->type, event->object);
  failures_in_a_row_ = 0;
  reflection_.seen(meta_of(event->object).resource_version);
  sink_.progressed();
  return true;
}

Task<> Reflector::watch(Reflection::Watch step, StopSource& stop) {
  ++counts_.watches;
  const auto query = query_of({{"watch", "true"},
                               {"allowWatchBookmarks", "true"},
                               {"resourceVersion", step.resource_version},
                               {"timeoutSeconds", std::to_string(step.timeout.count())},
                               {"labelSelector", selector_.labels},
                               {"fieldSelector", selector_.fields}});
  const auto path = path_of(target_.type, target_.name_space);
  std::optional<Error> problem;
  reflection_.watch_began(client_.clock().now());
  const auto ended = co_await client_.transport().stream(
      {"GET", path + query, ""},
      [this, &problem](const std::string& line) { return on_line(line, problem); }, stop);
  if (!ended && !problem) problem = ended.error();
  if (stop.stopping()) co_return;
  const auto now = client_.clock().now();
  if (!problem) {
    reflection_.watch_ended(now, client_.random());
    co_return;
  }
  ++counts_.watch_failures;
  failed("a watch ended early and goes on", *problem);
  reflection_.watch_failed(*problem, now, client_.random());
}

}  // namespace swage::k8s
