#include "tests/support/fake_pods.hpp"

#include <utility>

namespace swage::test {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

Json condition(const std::string& type, bool status) {
  return {{"type", type}, {"status", status ? "True" : "False"}};
}
Json with_container(const std::string& phase, bool ready, Json state) {
  return {{"phase", phase},
          {"podIP", "10.0.0.7"},
          {"conditions", {condition("PodScheduled", true), condition("Ready", ready)}},
          {"containerStatuses",
           {{{"name", "main"}, {"image", "an/image:1"}, {"state", std::move(state)}}}}};
}

}  // namespace

FakePods::FakePods(FakeApiServer& server, std::string name_space, Kubelet kubelet)
    : server_(server),
      name_space_(std::move(name_space)),
      path_("/api/v1/namespaces/" + name_space_ + "/pods"),
      kubelet_(std::move(kubelet)) {
  server_.on("GET", path_, [this](FakeExchange& exchange) { collection(exchange); });
  server_.on("POST", path_, [this](FakeExchange& exchange) { create(exchange); });
  thread_ = std::thread([this] { kubelet_loop(); });
}

void FakePods::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Json FakePods::running() { return with_container("Running", false, {{"running", Json::object()}}); }
Json FakePods::ready() { return with_container("Running", true, {{"running", Json::object()}}); }
Json FakePods::ended(int exit_code) {
  const auto* reason = exit_code == 0 ? "Completed" : "Error";
  return with_container(exit_code == 0 ? "Succeeded" : "Failed", false,
                        {{"terminated", {{"exitCode", exit_code}, {"reason", reason}}}});
}
Json FakePods::waiting(const std::string& reason, const std::string& message) {
  return with_container("Pending", false,
                        {{"waiting", {{"reason", reason}, {"message", message}}}});
}
Json FakePods::stubborn(Json pod) {
  pod["metadata"]["labels"]["test/stubborn"] = "true";
  return pod;
}

FakeApiServer::Script FakePods::status(int code, const std::string& reason,
                                       const std::string& message) {
  const Json body{{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Failure"},
                  {"code", code},     {"reason", reason},   {"message", message}};
  return FakeApiServer::answer(body.dump(), code);
}

void FakePods::change(const std::string& type, const std::string& name, const Json& pod) {
  auto next = pod;
  next["metadata"]["resourceVersion"] = std::to_string(++version_);
  if (type == "DELETED")
    pods_.erase(name);
  else
    pods_[name] = next;
  log_.emplace_back(version_, Json{{"type", type}, {"object", next}}.dump() + "\n");
  changed_.notify_all();
}

void FakePods::collection(FakeExchange& exchange) {
  if (exchange.request().query.contains("watch")) {
    watch(exchange);
    return;
  }
  Json items = Json::array();
  std::unique_lock lock(mutex_);
  for (const auto& [name, pod] : pods_) items.push_back(pod);
  const auto version = std::to_string(version_);
  lock.unlock();
  exchange.reply(200, Json{{"metadata", {{"resourceVersion", version}}}, {"items", items}}.dump());
}

void FakePods::watch(FakeExchange& exchange) {
  const auto& query = exchange.request().query;
  const auto from = query.find("resourceVersion");
  std::uint64_t seen = from == query.end() || from->second.empty() ? 0 : std::stoull(from->second);
  exchange.begin_stream();
  std::unique_lock lock(mutex_);
  const int cuts = cuts_;
  while (!stopping_ && cuts == cuts_) {
    std::string fresh;
    for (const auto& [version, line] : log_)
      if (version > seen) {
        fresh += line;
        seen = version;
      }
    if (fresh.empty()) {
      changed_.wait_for(lock, 50ms);
      continue;
    }
    lock.unlock();
    exchange.chunk(fresh);
    lock.lock();
  }
  lock.unlock();
  exchange.end_stream();
}

void FakePods::create(FakeExchange& exchange) {
  auto pod = Json::parse(exchange.request().body);
  const auto name = pod["metadata"]["name"].get<std::string>();
  std::unique_lock lock(mutex_);
  if (!refusal_.empty()) {
    const auto text = refusal_;
    lock.unlock();
    status(403, "Forbidden", text)(exchange);
    return;
  }
  if (pods_.contains(name)) {
    lock.unlock();
    status(409, "AlreadyExists", name + " exists")(exchange);
    return;
  }
  pod["metadata"]["uid"] = "server-uid-" + std::to_string(++uids_);
  pod["metadata"]["namespace"] = name_space_;
  change("ADDED", name, pod);
  const auto body = pods_[name].dump();
  for (auto& next : kubelet_(pods_[name])) {
    pods_[name]["status"] = std::move(next);
    change("MODIFIED", name, pods_[name]);
  }
  lock.unlock();
  for (const auto* method : {"GET", "PATCH", "DELETE"})
    server_.on(method, path_ + "/" + name, [this, name](FakeExchange& ask) { one(ask, name); });
  if (lose_answer_.exchange(false))
    exchange.cut();
  else
    exchange.reply(201, body);
}

void FakePods::one(FakeExchange& exchange, const std::string& name) {
  std::unique_lock lock(mutex_);
  if (!pods_.contains(name)) {
    lock.unlock();
    status(404, "NotFound", name + " not found")(exchange);
    return;
  }
  const auto body = pods_[name].dump();
  lock.unlock();
  if (exchange.request().method == "GET") exchange.reply(200, body);
  if (exchange.request().method == "PATCH") patch(exchange, name);
  if (exchange.request().method == "DELETE") remove(exchange, name);
}

void FakePods::patch(FakeExchange& exchange, const std::string& name) {
  const auto wanted = Json::parse(exchange.request().body);
  std::unique_lock lock(mutex_);
  auto& pod = pods_[name];
  const auto version = wanted.value("/metadata/resourceVersion"_json_pointer, std::string());
  if (!version.empty() && pod["metadata"]["resourceVersion"] != version) {
    lock.unlock();
    status(409, "Conflict", "the object has been modified")(exchange);
    return;
  }
  auto next = pod;
  next.merge_patch(wanted);
  change("MODIFIED", name, next);
  const auto body = pods_[name].dump();
  lock.unlock();
  exchange.reply(200, body);
}

void FakePods::remove(FakeExchange& exchange, const std::string& name) {
  const auto options = Json::parse(exchange.request().body, nullptr, false);
  std::unique_lock lock(mutex_);
  auto pod = pods_[name];
  const auto uid = options.is_object()
                       ? options.value("/preconditions/uid"_json_pointer, std::string())
                       : std::string();
  if (!uid.empty() && pod["metadata"]["uid"] != uid) {
    lock.unlock();
    status(409, "Conflict", "the uid is another")(exchange);
    return;
  }
  const int grace = options.is_object() ? options.value("gracePeriodSeconds", 30) : 30;
  const bool stubborn =
      pod.value("/metadata/labels"_json_pointer, Json::object()).contains("test/stubborn");
  pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  if (stubborn && grace > 0) {
    change("MODIFIED", name, pod);
    going_[name] = std::chrono::steady_clock::now() + std::chrono::seconds(grace);
  } else {
    const auto phase = pod.value("/status/phase"_json_pointer, std::string());
    if (phase == "Running") {
      pod["status"] = ended(0);
      change("MODIFIED", name, pod);
    }
    change("DELETED", name, pod);
  }
  lock.unlock();
  exchange.reply(200, pod.dump());
}

void FakePods::kubelet_loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    for (auto at = going_.begin(); at != going_.end();) {
      if (std::chrono::steady_clock::now() < at->second) {
        ++at;
        continue;
      }
      if (pods_.contains(at->first)) {
        auto pod = pods_[at->first];
        pod["status"] = ended(137);
        change("DELETED", at->first, pod);
      }
      at = going_.erase(at);
    }
    changed_.wait_for(lock, 20ms);
  }
}

void FakePods::evict(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (pods_.contains(name)) change("DELETED", name, pods_[name]);
}
void FakePods::set_status(const std::string& name, const Json& status) {
  const std::lock_guard lock(mutex_);
  pods_[name]["status"] = status;
  change("MODIFIED", name, pods_[name]);
}
Json FakePods::pod(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return pods_.contains(name) ? pods_[name] : Json(nullptr);
}
std::size_t FakePods::size() {
  const std::lock_guard lock(mutex_);
  return pods_.size();
}
void FakePods::refuse_creates(const std::string& message) {
  const std::lock_guard lock(mutex_);
  refusal_ = message;
}
void FakePods::cut_watches() {
  const std::lock_guard lock(mutex_);
  ++cuts_;
  changed_.notify_all();
}

}  // namespace swage::test
