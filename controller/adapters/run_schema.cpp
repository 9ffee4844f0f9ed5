#include <filesystem>
#include <limits>
#include <set>

#include "controller/adapters/schema.hpp"

namespace swage::controller {
namespace {

constexpr std::int64_t kMaxTokens = 1 << 20;
constexpr std::int64_t kMany = 1000000;

/// An integer that keeps the preset's value when it is left out.
template <class T>
void take(Fields& fields, const char* name, T& value, std::int64_t low, std::int64_t high) {
  value = static_cast<T>(fields.integer(name, static_cast<std::int64_t>(value), low, high));
}
void take_number(Fields& fields, const char* name, double& value, double low, double high) {
  value = fields.number(name, value, low, high);
}

void read_model(Fields fields, const SchemaContext& context, TrainingRun& run) {
  fields.require("source", "`scratch:tiny` or the absolute path of a model directory");
  run.model_source = fields.text("source", "scratch:tiny");
  const auto& source = run.model_source;
  const bool scratch = source.starts_with("scratch:");
  if (scratch && source != "scratch:tiny")
    fields.complain("source", "names an unknown preset `" + source.substr(8) + "`; known is tiny");
  if (!scratch && !std::filesystem::path(source).is_absolute())
    fields.complain("source",
                    "must be `scratch:<preset>` or an absolute directory, not `" + source + "`");
  context.only_in_a_cluster(fields, {"claimName"});
  run.model_claim = fields.text("claimName", "");
  fields.finish();
}

TaskSet read_task_set(const nlohmann::json& item, const std::string& path,
                      const SchemaContext& context) {
  Fields fields(item, path, context.complain);
  TaskSet out;
  fields.require("set", "`builtin-cpu`, `builtin-cuda` or an absolute path");
  out.set = fields.text("set", "builtin-cpu");
  if (out.set != "builtin-cpu" && out.set != "builtin-cuda" &&
      !std::filesystem::path(out.set).is_absolute())
    fields.complain(
        "set", "must be `builtin-cpu`, `builtin-cuda` or an absolute path, not `" + out.set + "`");
  out.weight = static_cast<int>(fields.integer("weight", 1, 0, 1000));
  fields.finish();
  return out;
}

std::vector<TaskSet> read_tasks(Fields& spec, const SchemaContext& context) {
  std::vector<TaskSet> out;
  const auto* list = spec.raw("tasks");
  if (list == nullptr || !list->is_array() || list->empty() || list->size() > 32) {
    spec.complain("tasks", "must be a list of 1 to 32 task sets, e.g. [{set: builtin-cpu}]");
    return out;
  }
  std::set<std::string> seen;
  int weights = 0;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto name = "tasks[" + std::to_string(i) + "]";
    out.push_back(read_task_set((*list)[i], spec.path_of(name), context));
    weights += out.back().weight;
    if (!seen.insert(out.back().set).second)
      spec.complain(name, "repeats the set `" + out.back().set + "`");
  }
  if (weights == 0) spec.complain("tasks", "all have weight 0; give at least one a weight");
  return out;
}

void read_stages(Fields fields, learner::Stages& stages) {
  auto single = fields.object("singleTurn");
  stages.single_turn.enabled = single.boolean("enabled", stages.single_turn.enabled);
  take(single, "steps", stages.single_turn.steps, 1, kMany);
  take(single, "contextTokens", stages.single_turn.context_tokens, 128, kMaxTokens);
  single.finish();

  auto collect = fields.object("collect");
  stages.collect.enabled = collect.boolean("enabled", stages.collect.enabled);
  take(collect, "trajectories", stages.collect.trajectories, 1, kMany);
  const std::string actor(learner::to_string(stages.collect.actor));
  stages.collect.actor =
      learner::collect_actor_from(collect.one_of("actor", {"Policy", "Teacher"}, actor))
          .value_or(stages.collect.actor);
  collect.finish();

  auto rft = fields.object("rft");
  stages.rft.enabled = rft.boolean("enabled", stages.rft.enabled);
  take(rft, "epochs", stages.rft.epochs, 1, 1000);
  take_number(rft, "learningRate", stages.rft.learning_rate, 0, 1);
  take(rft, "minKept", stages.rft.min_kept, 1, kMany);
  rft.finish();

  auto critic = fields.object("critic");
  stages.critic.enabled = critic.boolean("enabled", stages.critic.enabled);
  take(critic, "maxPasses", stages.critic.max_passes, 1, 1000);
  critic.finish();

  auto agentic = fields.object("agentic");
  stages.agentic.enabled = agentic.boolean("enabled", stages.agentic.enabled);
  take(agentic, "steps", stages.agentic.steps, 1, kMany);
  take(agentic, "turns", stages.agentic.turns, 1, 1000);
  take(agentic, "contextTokens", stages.agentic.context_tokens, 128, kMaxTokens);
  agentic.finish();
  fields.finish();
}

void read_learning(Fields fields, learner::Learning& learning) {
  take(fields, "batch", learning.batch, 1, 65536);
  take(fields, "groupSize", learning.group_size, 1, 1024);
  take_number(fields, "actorLearningRate", learning.actor_learning_rate, 0, 1);
  take_number(fields, "criticLearningRate", learning.critic_learning_rate, 0, 1);
  take(fields, "staleness", learning.staleness, 0, 64);
  take(fields, "checkpointEverySteps", learning.checkpoint_every_steps, 1, kMany);
  take_number(fields, "gamma", learning.gamma, 0, 1);
  if (fields.has("lambda")) {
    take_number(fields, "lambda", learning.lambda_policy, 0, 1);
    learning.lambda_value = learning.lambda_policy;
  }
  take_number(fields, "clipLow", learning.clip_low, 0, 0.999);
  take_number(fields, "clipHigh", learning.clip_high, 0, 10);
  const auto name_of = [](auto value) { return std::string(learner::to_string(value)); };
  learning.advantage =
      learner::advantage_from(fields.one_of("advantage",
                                            {"fixed", "decoupled", "adaptive", "turn", "group"},
                                            name_of(learning.advantage)))
          .value_or(learning.advantage);
  learning.aggregation =
      learner::aggregation_from(fields.one_of("aggregation",
                                              {"trajectory-mean", "token-mean", "token-sum",
                                               "trajectory-sum", "trajectory-sum-norm"},
                                              name_of(learning.aggregation)))
          .value_or(learning.aggregation);
  learning.overlong = learner::overlong_from(fields.one_of("overlong", {"keep", "soft", "mask"},
                                                           name_of(learning.overlong)))
                          .value_or(learning.overlong);
  learning.deterministic = fields.boolean("deterministic", learning.deterministic);
  if (learning.batch % learning.group_size != 0)
    fields.complain("batch", "must be a multiple of groupSize (" +
                                 std::to_string(learning.group_size) +
                                 "): a batch is made of whole groups");
  fields.finish();
}

void read_ablations(Fields fields, TrainingRun& run) {
  run.no_agent_loop = fields.boolean("noAgentLoop", false);
  if (fields.boolean("rawSpeedupReward", false)) run.learning.reward = learner::RewardKind::speedup;
  fields.finish();
}

void read_rollouts(Fields& spec, TrainingRun& run, const SchemaContext& context) {
  auto fields = spec.object("rollouts");
  take(fields, "concurrency", run.rollouts.concurrency, 1, 100000);
  take(fields, "maxAttempts", run.rollouts.max_attempts, 1, 20);
  take(fields, "wallClockSeconds", run.rollouts.wall_clock_seconds, 60, 86400);
  fields.finish();
  if (spec.has("rolloutWorkers"))
    context.notice(
        "spec.rolloutWorkers makes no workers here: one machine has one. Its replicas * "
        "rolloutsPerWorker still bound spec.rollouts.concurrency");
  auto workers = spec.object("rolloutWorkers");
  take(workers, "replicas", run.rollout_worker_replicas, 1, 1000);
  take(workers, "rolloutsPerWorker", run.rollouts_per_worker, 1, 1000);
  workers.finish();
  const int places = run.rollout_worker_replicas * run.rollouts_per_worker;
  if (run.rollouts.concurrency > places)
    fields.complain("concurrency", "must be at most rolloutWorkers.replicas * rolloutsPerWorker (" +
                                       std::to_string(places) + ")");
}

void read_replicas(Fields& spec, TrainingRun& run, const SchemaContext& context) {
  for (const auto& [name, out] :
       {std::pair{"policy", &run.policy}, std::pair{"learner", &run.learner}}) {
    auto fields = spec.object(name);
    take(fields, "replicas", out->replicas, 1, 1000);
    take(fields, "gpusPerReplica", out->gpus, 1, 16);
    read_placement(fields, context, {"resources", "nodeSelector", "tolerations"}, out->placement);
    if (out == &run.learner) {
      context.only_in_a_cluster(fields, {"storage"});
      auto storage = fields.object("storage");
      run.storage.size = read_quantity(storage, "size", run.storage.size);
      run.storage.class_name = storage.text("className", "");
      run.storage.retain = storage.boolean("retain", true);
      storage.finish();
    }
    fields.finish();
  }
}

SandboxSpec read_sandbox(Fields fields, const SchemaContext& context) {
  SandboxSpec out;
  context.only_in_a_cluster(fields, {"image"});
  out.image = fields.text("image", "");
  read_placement(fields, context, {"runtimeClassName", "nodeSelector", "tolerations"},
                 out.placement);
  auto resources = fields.object("resources");
  out.sandboxd = read_resources(resources.object("sandboxd"));
  out.agent = read_resources(resources.object("agent"));
  resources.finish();
  take(fields, "warmMin", out.warm_min, 0, 10000);
  take(fields, "warmMax", out.warm_max, 0, 10000);
  if (out.warm_min > out.warm_max)
    fields.complain("warmMin", "must be at most warmMax (" + std::to_string(out.warm_max) + ")");
  out.recycle = fields.boolean("recycle", false);
  if (out.recycle) fields.complain("recycle", "is not built yet; leave it out or set it to false");
  fields.finish();
  return out;
}

EvaluationSpec read_evaluation(Fields fields, const std::string& own_space) {
  EvaluationSpec out;
  auto ref = fields.object("poolRef");
  out.pool.name = ref.text("name", "default");
  out.pool.space = ref.text("namespace", own_space);
  for (const auto& [field, value] :
       {std::pair{"name", out.pool.name}, {"namespace", out.pool.space}})
    if (!is_name(value))
      ref.complain(field, "is not a name of a Kubernetes object: `" + value + "`");
  ref.finish();
  take(fields, "maxLeases", out.max_leases, 0, 1024);
  out.precision = fields.one_of("precision", {"official", "matched"}, "official") == "matched"
                      ? Precision::matched
                      : Precision::official;
  out.allow_reduced_trust = fields.boolean("allowReducedTrust", false);
  fields.finish();
  return out;
}

}  // namespace

TrainingRun read_training_run(const nlohmann::json& document, const SchemaContext& context) {
  Fields root(document, "", context.complain);
  std::ignore = root.text("apiVersion", "");
  std::ignore = root.text("kind", "");
  const auto metadata = read_metadata(root, context);
  TrainingRun out;
  out.name = metadata.name;
  out.space = metadata.space;
  root.require("spec", "what to train; see examples/quickstart.yaml");
  auto spec = root.object("spec");
  out.learning = learner::preset_settings(
      learner::preset_from(spec.one_of("preset", {"Cluster", "OneMachine"}, "Cluster"))
          .value_or(learner::Preset::cluster));
  out.suspend = spec.boolean("suspend", false);
  out.device_kind = read_device_kind(spec);
  out.seed = spec.integer("seed", 1, 0, std::numeric_limits<std::int64_t>::max());
  take(spec, "weight", out.weight, 1, 100);
  spec.require("model", "{source: \"scratch:tiny\"}");
  read_model(spec.object("model"), context, out);
  out.tasks = read_tasks(spec, context);
  read_stages(spec.object("stages"), out.learning.stages);
  read_learning(spec.object("learning"), out.learning.learning);
  read_ablations(spec.object("ablations"), out);
  read_rollouts(spec, out, context);
  read_replicas(spec, out, context);
  out.sandbox = read_sandbox(spec.object("sandbox"), context);
  out.evaluation = read_evaluation(spec.object("evaluation"), out.space);
  context.only_in_a_cluster(spec, {"ttlSecondsAfterFinished"});
  if (spec.has("ttlSecondsAfterFinished"))
    out.ttl_seconds = static_cast<int>(
        spec.integer("ttlSecondsAfterFinished", 0, 0, std::numeric_limits<int>::max()));
  if (!out.no_agent_loop && !out.learning.stages.agentic.enabled)
    spec.complain("stages.agentic.enabled", "may be false only with ablations.noAgentLoop: true");
  spec.finish();
  root.finish();
  return out;
}

}  // namespace swage::controller
