#include "controller/adapters/local_layout.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/digest.hpp"
#include "common/base/json_text.hpp"
#include "controller/adapters/process_fields.hpp"

namespace swage::controller {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kUidDigits = 8;

}  // namespace

LocalLayout::LocalLayout(const OutDirectory& out, const RunFile& file, Installation installed,
                         std::uint64_t evaluation_rollouts)
    : out_(out.root()),
      run_uid_(out.run_uid()),
      file_(file),
      name_(file.run.name),
      installed_(std::move(installed)),
      evaluation_rollouts_(evaluation_rollouts),
      sockets_(fs::path("/tmp") / ("swage-" + out.run_uid().substr(0, kUidDigits))) {}

Result<void, OutError> LocalLayout::prepare(OutDirectory& out) {
  for (auto [name, file] : {std::pair{"token", &token_file_},
                            {"redis.password", &redis_password_file_},
                            {"verdict.key", &verdict_key_file_},
                            {"sandbox.key", &sandbox_key_file_}}) {
    auto made = out.secret(name);
    if (!made) return tl::unexpected(made.error());
    *file = std::move(*made);
  }
  std::error_code failed;
  fs::remove_all(sockets_, failed);
  // create_directory is false for one that is there already: somebody else's, which we do not use.
  if (!fs::create_directory(sockets_, failed))
    return tl::unexpected(OutError{OutErrc::unwritable,
                                   "cannot make " + sockets_.string() + ": " +
                                       (failed ? failed.message() : "it belongs to somebody else"),
                                   false});
  fs::permissions(sockets_, fs::perms::owner_all, failed);
  for (const auto& left : fs::directory_iterator(out_ / "pods", failed))
    fs::remove(left.path(), failed);  // of an earlier life
  fs::create_directory(sandbox_root(), failed);
  return {};
}

void LocalLayout::clean_up() const {
  std::error_code ignored;
  fs::remove_all(sockets_, ignored);
}

LocalBackendSettings LocalLayout::backend_settings() const {
  const auto program = [this](const char* name) {
    return std::vector<std::string>{(installed_.bin / name).string(), "--config"};
  };
  LocalBackendSettings out;
  out.pods = out_ / "pods";
  out.logs = out_ / "logs";
  out.redis_socket = redis_socket();
  out.programs = {{Component::redis, {installed_.redis_server.string()}},
                  {Component::gpu_worker, program("swage-gpu-worker")},
                  {Component::policy, program("swage-policy")},
                  {Component::learner, program("swage-learner")},
                  {Component::rollout_worker, program("swage-rollout-worker")},
                  {Component::sandbox, program("swage-sandboxd")}};
  out.remedies = {{Component::redis, "install it: apt-get install redis-server"}};
  for (const auto component : {Component::gpu_worker, Component::policy, Component::learner,
                               Component::rollout_worker, Component::sandbox})
    out.remedies[component] = "build swage with `make build`";
  // On a small machine measurements and learning keep a core that the small processes leave alone.
  if (installed_.cores < 4)
    for (const auto component :
         {Component::redis, Component::policy, Component::rollout_worker, Component::sandbox})
      out.cores[component] = {0};
  return out;
}

std::vector<DesiredPod> LocalLayout::desired_pods() const {
  std::vector<DesiredPod> out;
  out.push_back({redis_pod(), Component::redis, {}});
  out.push_back({file_.pool.name + "-gpu-0", Component::gpu_worker, {redis_pod()}});
  out.push_back({learner_pod(), Component::learner, {}});
  for (int i = 0; i < file_.run.policy.replicas; ++i)
    out.push_back({name_ + "-policy-" + std::to_string(i), Component::policy, {}});
  out.push_back({name_ + "-rollout-0", Component::rollout_worker, {redis_pod()}});
  return out;
}

std::string LocalLayout::address_of(const std::string& pod) const {
  return "unix:" + (sockets_ / (pod + ".sock")).string();
}

fs::path LocalLayout::tokenizer() const {
  const auto& source = file_.run.model_source;
  if (source.starts_with("scratch:")) return installed_.share / source.substr(8) / "tokenizer.json";
  return fs::path(source) / "tokenizer.json";
}

std::string LocalLayout::pod_config(const std::string& name, Component component) const {
  if (component == Component::redis) return redis_config();
  auto value = common_fields(name);
  if (component == Component::gpu_worker) {  // it serves a pool, not a run
    value.erase("run");
    value.erase("run_uid");
  }
  switch (component) {
    case Component::policy:
      value.update(policy_fields());
      break;
    case Component::learner:
      value.update(learner_fields());
      break;
    case Component::rollout_worker:
      value.update(rollout_fields());
      break;
    case Component::gpu_worker:
      value.update(gpu_fields());
      break;
    case Component::redis:
    case Component::sandbox:
      break;
  }
  return json_text(value, 2) + "\n";
}

json LocalLayout::common_fields(const std::string& name) const {
  return {{"name", name},
          {"run", name_},
          {"run_uid", run_uid_},
          {"listen", address_of(name)},
          {"http", "127.0.0.1:0"},
          {"ready_file", (out_ / "pods" / (name + ".ready")).string()},
          {"token_file", token_file_.string()},
          {"log", {{"level", "info"}, {"format", "text"}}}};
}

json LocalLayout::policy_fields() const {
  const bool one_machine = file_.run.learning.preset == learner::Preset::one_machine;
  return {{"model", {{"source", file_.run.model_source}, {"tokenizer", tokenizer().string()}}},
          {"learner", learner_address()},
          {"kv", one_machine ? "recompute" : "keep"},
          {"threads", 1},
          {"seed", file_.run.seed}};
}

json LocalLayout::learner_fields() const {
  return {{"out", out_.string()},
          {"model",
           {{"source", file_.run.model_source},
            {"tokenizer", tokenizer().string()},
            {"renderer", kRenderer}}},
          {"controller", controller_address()},
          {"verdict_key_file", verdict_key_file_.string()},
          {"pool", file_.pool.full_name()},
          {"preset", learner::to_string(file_.run.learning.preset)},
          {"stages", stage_fields(file_.run.learning.stages)},
          {"learning", learning_fields(file_.run.learning.learning)},
          {"reward", learner::to_string(file_.run.learning.reward)},
          {"evaluation_rollouts", evaluation_rollouts_},
          {"seed", file_.run.seed},
          {"threads", installed_.cores},
          {"allow_reduced_trust", file_.run.evaluation.allow_reduced_trust}};
}

json LocalLayout::redis_fields() const {
  return {{"address", redis_address()}, {"password_file", redis_password_file_.string()}};
}

json LocalLayout::rollout_fields() const {
  return {{"controller", controller_address()},
          {"learner", learner_address()},
          {"redis", redis_fields()},
          {"pool", file_.pool.full_name()},
          {"capacity", file_.run.rollouts.concurrency},
          {"tokenizer", tokenizer().string()},
          {"renderer", kRenderer},
          {"teacher_directory", (installed_.share / "tasks" / "builtin-cpu").string()}};
}

json LocalLayout::gpu_fields() const {
  return {{"redis", redis_fields()},
          {"pool", file_.pool.full_name()},
          {"gpu", "cpu-0"},
          {"device_kind", device_kind_name(file_.pool.device_kind)},
          {"verdict_key_file", verdict_key_file_.string()},
          {"python", installed_.python.string()},
          {"model_host_directory", (installed_.share / "model_host").string()},
          {"judge_binary", (installed_.bin / "swage-judge").string()},
          {"cache_directory", (installed_.cache / "gpu-worker").string()}};
}

std::string LocalLayout::sandbox_config(const std::string& name, const std::string& uid,
                                        const std::string& token, unsigned agent_uid) const {
  const json value{{"name", name},
                   {"run", name_},
                   {"run_uid", run_uid_},
                   {"listen", address_of(name)},
                   {"ready_file", (out_ / "pods" / (name + ".ready")).string()},
                   {"log", {{"level", "info"}, {"format", "text"}}},
                   {"pod_uid", uid},
                   {"sandbox_token_sha256", sha256_hex(token)},
                   {"root_directory", (sandbox_root() / name).string()},
                   {"object_cache_directory", (installed_.cache / "objects").string()},
                   {"template_directory", (installed_.share / "sandbox" / "template").string()},
                   {"toolchain",
                    {{"cxx", "g++"},
                     {"torch_directory", installed_.torch.string()},
                     {"python", installed_.python.string()}}},
                   {"agent_uid", agent_uid},
                   {"wall_clock_seconds", file_.run.rollouts.wall_clock_seconds},
                   {"allow_reduced", file_.run.evaluation.allow_reduced_trust}};
  return json_text(value, 2) + "\n";
}

std::string LocalLayout::redis_config() const {
  const auto password = read_file(redis_password_file_).value_or("");
  return "port 0\nunixsocket " + redis_socket().string() + "\nunixsocketperm 700\nrequirepass " +
         password +
         "\nsave \"\"\nappendonly no\nmaxmemory-policy noeviction\ndaemonize no\nset-proc-title "
         "no\ndir " +
         sockets_.string() + "\nloglevel notice\n";
}

}  // namespace swage::controller
