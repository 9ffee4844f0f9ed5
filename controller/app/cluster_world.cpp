#include "controller/app/cluster_world.hpp"

#include <algorithm>
#include <utility>

#include "common/log/log.hpp"
#include "controller/app/run_view.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using k8s::Json;

constexpr auto kWriteEvery = 5s;

const Json* condition_of(const Json& conditions, const std::string& type) {
  for (const auto& one : conditions)
    if (one.value("type", "") == type) return &one;
  return nullptr;
}

/// What must be seen at once.
Json urgent(const Json& status) {
  Json out{{"phase", status.value("phase", "")}, {"pause", status.value("pause", Json(nullptr))}};
  for (const auto& one : status.value("conditions", Json::array()))
    out[one.value("type", "")] = {one.value("status", ""), one.value("reason", "")};
  return out;
}

}  // namespace

KeptObject::KeptObject(ClusterWorld& world, k8s::ResourceType type, std::string finalizer,
                       Json object)
    : world_(world), json_(std::move(object)), finalizer_(std::move(finalizer)) {
  const auto meta = k8s::meta_of(json_);
  owner_ = {type.kind, meta.name, meta.name_space, meta.uid};
  target_ = {std::move(type), meta.name_space, meta.name};
}

void KeptObject::changed(const Json* object) {
  if (object == nullptr)
    gone_ = true;
  else
    json_ = *object;
}

bool KeptObject::deleting() const { return !k8s::meta_of(json_).deletion_timestamp.empty(); }

Task<> KeptObject::add_finalizer(StopSource& stop) {
  return until_done(world_, [this, &stop] { return set_finalizer(true, stop); }, stop);
}

Task<> KeptObject::take_finalizer(StopSource& stop) {
  return until_done(world_, [this, &stop] { return set_finalizer(false, stop); }, stop);
}

/// True: it is so now, or the object is gone.
Task<bool> KeptObject::set_finalizer(bool there, StopSource& stop) {
  if (gone_) co_return true;
  const auto object = co_await world_.client.get(target_, world_.soon(), stop);
  if (!object) co_return object.error().code == k8s::Errc::not_found;
  auto list = object->value("/metadata/finalizers"_json_pointer, Json::array());
  const auto found = std::find(list.begin(), list.end(), Json(finalizer_));
  if ((found != list.end()) == there) co_return true;
  if (there)
    list.push_back(finalizer_);
  else
    list.erase(found);
  // The version: of two writers one repeats, and nobody's finalizer is lost.
  const Json patch{
      {"metadata",
       {{"resourceVersion", k8s::meta_of(*object).resource_version}, {"finalizers", list}}}};
  const auto done = co_await world_.client.merge_patch(target_, "", patch, world_.soon(), stop);
  co_return done.has_value() || done.error().code == k8s::Errc::not_found;
}

StatusWriter::StatusWriter(ClusterWorld& world, k8s::ResourceType type, const Json& object)
    : world_(world) {
  const auto meta = k8s::meta_of(object);
  subject_ = {type.api_version(), type.kind, meta.name_space, meta.name, meta.uid};
  target_ = {std::move(type), meta.name_space, meta.name};
  generation_ = object.value("/metadata/generation"_json_pointer, std::int64_t{0});
  written_ = object.value("status", Json::object());
}

void StatusWriter::stamp(Json& conditions) const {
  const auto before = written_.value("conditions", Json::array());
  const auto now = rfc3339(unix_ms());
  for (auto& one : conditions) {
    const auto* old = condition_of(before, one["type"].get<std::string>());
    const bool same = old != nullptr && one["status"] == old->value("status", "");
    one["lastTransitionTime"] = same ? old->value("lastTransitionTime", now) : now;
    one["observedGeneration"] = generation_;
  }
}

void StatusWriter::tell(const Json& conditions) {
  const auto before = written_.value("conditions", Json::array());
  for (const auto& one : conditions) {
    const auto* old = condition_of(before, one["type"].get<std::string>());
    if (old != nullptr && one["status"] == old->value("status", "") &&
        one["reason"] == old->value("reason", ""))
      continue;
    if (old == nullptr && one["message"].get<std::string>().empty()) continue;  // nothing to tell
    const bool warning = one["status"] == "False" && !one["message"].get<std::string>().empty();
    const auto type = one["type"].get<std::string>();
    const auto message = one["message"].get<std::string>();
    world_.events.note(
        {subject_, one["reason"].get<std::string>(),
         type + " is " + one["status"].get<std::string>() + (message.empty() ? "" : ": " + message),
         warning});
  }
}

Task<bool> StatusWriter::write(Json status, StopSource& stop) {
  stamp(status["conditions"]);
  status["observedGeneration"] = generation_;
  const bool at_once = !last_ || urgent(status) != urgent(written_);
  if (!at_once && world_.clock.now() - *last_ < kWriteEvery) co_return true;
  if (last_ && status == written_) co_return true;
  auto patch = status;
  for (const auto& [name, value] : written_.items())
    if (!patch.contains(name)) patch[name] = nullptr;  // it is no more
  const auto done = co_await world_.client.patch_status(target_, patch, world_.soon(), stop);
  if (!done) {
    if (done.error().code == k8s::Errc::not_found) co_return true;  // deleted meanwhile
    log_warning("a status cannot be written",
                {{"object", subject_.kind + " " + subject_.name_space + "/" + subject_.name},
                 {"why", done.error().message}});
    co_return false;
  }
  tell(status["conditions"]);
  written_ = std::move(status);
  last_ = world_.clock.now();
  co_return true;
}

Task<std::optional<Trouble>> apply_object(ClusterWorld& world, k8s::ResourceType type, Json object,
                                          StopSource& stop) {
  const auto meta = k8s::meta_of(object);
  object["apiVersion"] = type.api_version();
  object["kind"] = type.kind;
  const auto what = type.kind + " " + meta.name;
  const k8s::Target target{std::move(type), meta.name_space, meta.name};
  const auto done =
      co_await world.client.apply(target, "", std::move(object), kFieldManager, world.soon(), stop);
  if (done) co_return std::nullopt;
  if (done.error().code == k8s::Errc::conflict && !done.error().managers.empty())
    co_return Trouble{"FieldConflict", what + ": `" + done.error().managers.front() +
                                           "` owns a field of it; let it go, or rename the run"};
  co_return Trouble{done.error().code == k8s::Errc::forbidden ? "Forbidden" : "ApplyFailed",
                    what + ": " + done.error().message};
}

}  // namespace swage::controller
