#include "common/k8s/client.hpp"

#include <memory>
#include <random>

#include "common/base/json_text.hpp"
#include "common/k8s/backoff.hpp"

namespace swage::k8s {
namespace {

std::string path_of(const Target& target, const std::string& subresource = "") {
  return k8s::path_of(target.type, target.name_space, target.name, subresource);
}

/// Objects of lists come without them, and the server wants them in what it is sent.
Json typed(Json object, const ResourceType& type) {
  object["apiVersion"] = type.api_version();
  object["kind"] = type.kind;
  return object;
}

Error unreadable() { return {.code = Errc::transport, .message = "the answer is not JSON"}; }

}  // namespace

Random make_random() {
  auto engine = std::make_shared<std::mt19937_64>(std::random_device{}());
  return [engine] { return std::uniform_real_distribution<double>(0, 1)(*engine); };
}

Client::Client(Transport& transport, Clock& clock, ClientLimits limits, Random random)
    : transport_(transport),
      clock_(clock),
      bucket_(limits.per_second, limits.burst),
      random_(std::move(random)) {}

Task<Result<std::string, Error>> Client::send(Request request, TimePoint deadline,
                                              StopSource& stop) {
  Backoff backoff;
  for (;;) {
    const auto turn = bucket_.take(clock_.now());
    if (turn >= deadline)
      co_return tl::unexpected(
          Error{.code = Errc::transport, .message = "not sent: the rate limit leaves no time"});
    if (turn > clock_.now()) co_await clock_.sleep_until(turn, stop);
    auto answer = co_await transport_.request(request, deadline, stop);
    if (answer || answer.error().code != Errc::throttled) co_return answer;
    const auto again =
        clock_.now() + backoff.failed(clock_.now(), random_(), answer.error().retry_after);
    if (again >= deadline || stop.stopping()) co_return answer;
    co_await clock_.sleep_until(again, stop);
  }
}

Client::Answer Client::ask(Request request, TimePoint deadline, StopSource& stop) {
  const auto body = co_await send(std::move(request), deadline, stop);
  if (!body) co_return tl::unexpected(body.error());
  auto json = Json::parse(*body, nullptr, false);
  if (!json.is_object()) co_return tl::unexpected(unreadable());
  co_return json;
}

Client::Answer Client::get(Target target, TimePoint deadline, StopSource& stop) {
  co_return co_await ask({"GET", path_of(target), ""}, deadline, stop);
}

Task<Result<ListPage, Error>> Client::list(Target target, ListOptions options, TimePoint deadline,
                                           StopSource& stop) {
  // A limit beside a resourceVersion means "exactly that version" unless it is said otherwise: a
  // list after "too old" would bring the old state again, for ever.
  const bool named = !options.resource_version.empty() && options.resource_version != "0";
  const auto query = query_of({{"limit", std::to_string(options.limit)},
                               {"labelSelector", options.selector.labels},
                               {"fieldSelector", options.selector.fields},
                               {"resourceVersion", options.resource_version},
                               {"resourceVersionMatch", named ? "NotOlderThan" : ""},
                               {"continue", options.continue_token}});
  auto answer = co_await ask({"GET", path_of(target) + query, ""}, deadline, stop);
  if (!answer) co_return tl::unexpected(answer.error());
  const auto metadata = answer->find("metadata");
  const auto items = answer->find("items");
  if (metadata == answer->end() || !metadata->is_object() || items == answer->end())
    co_return tl::unexpected(unreadable());
  ListPage page{{}, metadata->value("resourceVersion", ""), metadata->value("continue", "")};
  if (items->is_array()) page.items = std::move(items->get_ref<Json::array_t&>());
  co_return page;
}

Client::Answer Client::create(Target target, Json object, TimePoint deadline, StopSource& stop) {
  target.name.clear();
  const auto body = json_text(typed(std::move(object), target.type));
  co_return co_await ask({"POST", path_of(target), body}, deadline, stop);
}

Client::Answer Client::replace(Target target, Json object, TimePoint deadline, StopSource& stop) {
  const auto body = json_text(typed(std::move(object), target.type));
  co_return co_await ask({"PUT", path_of(target), body}, deadline, stop);
}

Client::Answer Client::merge_patch(Target target, std::string subresource, Json patch,
                                   TimePoint deadline, StopSource& stop) {
  co_return co_await ask(
      {"PATCH", path_of(target, subresource), json_text(patch), "application/merge-patch+json"},
      deadline, stop);
}

Client::Answer Client::apply(Target target, std::string subresource, Json object,
                             std::string field_manager, TimePoint deadline, StopSource& stop) {
  auto body = typed(std::move(object), target.type);
  body["metadata"]["name"] = target.name;
  const auto path = path_of(target, subresource) +
                    query_of({{"fieldManager", field_manager}, {"force", "false"}});
  // Every JSON text is YAML, which is what this media type says.
  co_return co_await ask({"PATCH", path, json_text(body), "application/apply-patch+yaml"}, deadline,
                         stop);
}

Task<Result<bool, Error>> Client::remove(Target target, RemoveOptions options, TimePoint deadline,
                                         StopSource& stop) {
  Json body{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (!options.uid.empty()) body["preconditions"] = {{"uid", options.uid}};
  if (options.grace) body["gracePeriodSeconds"] = *options.grace;
  if (!options.propagation.empty()) body["propagationPolicy"] = options.propagation;
  const auto answer = co_await send({"DELETE", path_of(target), json_text(body)}, deadline, stop);
  if (answer) co_return true;
  const auto code = answer.error().code;
  const bool another = code == Errc::conflict && !options.uid.empty();
  if (code == Errc::not_found || another) co_return true;
  co_return tl::unexpected(answer.error());
}

}  // namespace swage::k8s
