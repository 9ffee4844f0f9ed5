#include "gpu_pool/judge/app/evaluation.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <thread>

#include "common/base/digest.hpp"
#include "common/base/elf.hpp"
#include "gpu_pool/judge/app/endings.hpp"
#include "gpu_pool/judge/app/rounds.hpp"
#include "gpu_pool/judge/core/recipe.hpp"
#include "gpu_pool/judge/core/symbol_audit.hpp"

namespace swage::judge {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kTimingAttempts = 3;  // a disturbance may be over soon
constexpr milliseconds kTimingPause{400};
constexpr double kMostWarmUps = 500;

Root draw_root(const std::string& given) {
  Root root{};
  const std::string bytes = given.empty() ? random_bytes(root.size()) : from_hex(given);
  if (bytes.size() == root.size()) std::memcpy(root.data(), bytes.data(), root.size());
  return root;
}

std::uint32_t milliseconds_since(steady_clock::time_point begin) {
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin).count());
}

/// The same start of the generator for every arm of a task: it decides only what a model keeps
/// outside its state, for the judge sets the state.
std::uint64_t init_seed_of(const std::string& task_source) {
  return std::stoull(sha256_hex(task_source).substr(0, 15), nullptr, 16);
}

ArmSettings arm_settings(const SessionBegin& begin, const Plan& plan, const Guards& guards) {
  return {begin.scratch,
          begin.host_cores,
          begin.memory_bytes,
          begin.request.task_source,
          init_seed_of(begin.request.task_source),
          plan,
          guards};
}

bool is_memory_fault(const HostFailure& failure) {
  if (failure.kind == HostFailure::Kind::failed) return failure.category == "fault";
  if (failure.kind != HostFailure::Kind::died || !WIFSIGNALED(failure.wait_status)) return false;
  const int number = WTERMSIG(failure.wait_status);
  return number == SIGSEGV || number == SIGBUS;
}

}  // namespace

Evaluation::Evaluation(Session& session, Assignment assignment, Machine& machine, Guards guards)
    : session_(session),
      begin_(std::move(assignment.begin)),
      guards_(guards),
      plan_(plan_for(begin_.request)),
      root_(draw_root(begin_.seed)),
      task_(std::move(assignment.task)),
      machine_(machine),
      room_(machine.room()),
      arms_(std::move(assignment.zygote), std::move(assignment.residents),
            arm_settings(begin_, plan_, guards_), machine),
      checker_(plan_, guards_, room_, machine.kernels()),
      started_(steady_clock::now()),
      phase_started_(started_) {}

void Evaluation::enter(const std::string& phase) {
  if (!record_.phase.empty()) record_.phase_ms[record_.phase] += milliseconds_since(phase_started_);
  record_.phase = phase;
  phase_started_ = steady_clock::now();
  session_.progress(phase, 0, 0);
}

void Evaluation::describe_machine() {
  const DeviceFacts device = machine_.kernels().facts();
  record_.device_kind = device.kind;
  record_.device_name = device.name;
  record_.device_uuid = device.uuid;
  record_.device_driver = device.driver;
  record_.torch = begin_.torch;
  record_.missing_layers = begin_.missing_layers;
  if (!begin_.seed.empty()) record_.missing_layers.emplace_back("given seed");
  for (const auto& layer : arms_.missing())
    if (std::ranges::find(record_.missing_layers, layer) == record_.missing_layers.end())
      record_.missing_layers.push_back(layer);
}

Result<void, Ending> Evaluation::audit_library() const {
  const auto summary = read_elf(solution_.library);
  if (!summary)
    return tl::unexpected(Ending{Code::load_error, "cuda_extension.so: " + summary.error()});
  const auto refused = guards_.symbols ? refused_symbol(*summary) : std::nullopt;
  if (!refused) return {};
  return tl::unexpected(
      Ending{Code::policy_violation, *refused + ", which no kernel may use", "symbols"});
}

Result<void, Ending> Evaluation::audit_source() {
  const auto found = arms_.source_findings();
  if (!found) return tl::unexpected(found.error());
  if (found->empty()) return {};
  for (const auto& finding : *found) record_.policy.push_back({"ast", finding});
  return tl::unexpected(Ending{Code::policy_violation, found->front(), "ast"});
}

Result<void, Ending> Evaluation::know_task() {
  if (!task_) {
    auto host = arms_.task();
    if (!host) return tl::unexpected(host.error());
    auto learned = learn_task(**host, root_);
    if (!learned) return tl::unexpected(learned.error());
    task_ = std::move(*learned);
    task_is_new_ = true;
  }
  if (task_->facts.absolute) plan_.tolerance.absolute = *task_->facts.absolute;
  const auto& args = task_->facts.args;
  const bool opaque = !guards_.seed || std::ranges::any_of(args, [](const auto& a) {
    return a.tensor && !a.recipe;
  });
  Host* task_host = nullptr;
  if (opaque) {
    const bool loaded = task_is_new_ || arms_.has(Role::task);
    auto host = arms_.task();
    if (!host) return tl::unexpected(host.error());
    task_host = *host;
    if (!loaded) {
      const auto described = task_host->ask({{"op", "task"}, {"seed", 0}}, {},
                                            {"init_args", "args", "state"}, milliseconds(60000));
      if (!described) return tl::unexpected(task_ending(described.error()));
    }
  }
  auto inputs = Inputs::make(task_->facts, root_, task_host, guards_, machine_.kernels());
  if (!inputs) return tl::unexpected(inputs.error());
  inputs_ = std::move(*inputs);
  checker_.set_inputs(inputs_->memory().bytes());
  auto weights =
      Weights::make(task_->facts.state, task_->initial_state, root_, 0, machine_.kernels());
  if (!weights) return tl::unexpected(weights.error());
  weights_ = std::move(*weights);
  if (task_->facts.state.empty() || !guards_.weights) return {};
  auto others =
      Weights::make(task_->facts.state, task_->initial_state, root_, 1, machine_.kernels());
  if (!others) return tl::unexpected(others.error());
  other_weights_ = std::move(*others);
  return {};
}

milliseconds Evaluation::call_limit() const {
  if (!guards_.deadline) return plan_.first_call;
  const auto scaled = milliseconds(static_cast<std::int64_t>(plan_.call_factor * eager_us_ / 1e3));
  return std::max(plan_.least_call, scaled);
}

Result<Host::Call, Ending> Evaluation::call(Role role, milliseconds limit) {
  if (role == Role::candidate) checker_.poison_next(arms_.host(role));
  auto result = arms_.host(role).call(Operation::forward, inputs_->bytes(), limit);
  if (result) return std::move(*result);
  const HostFailure& failure = result.error();
  record_.log += failure.kind == HostFailure::Kind::failed ? failure.message : std::string();
  if (role != Role::candidate && role != Role::twin) return tl::unexpected(task_ending(failure));
  Ending ending = candidate_ending(failure);
  if (is_memory_fault(failure) && role == Role::candidate)
    ending = explain_crash(std::move(ending));
  return tl::unexpected(std::move(ending));
}

/// A write to an input faults, like any wild pointer: one more candidate with inputs that it may
/// write tells the two apart.
Ending Evaluation::explain_crash(Ending crash) {
  record_.log += arms_.host(Role::candidate).log();
  auto writable = inputs_->copy();
  if (!writable) return crash;
  if (!arms_.begin_candidate(solution_, *task_)) return crash;
  if (!arms_.finish_candidate(*task_, *weights_, *inputs_, &*writable)) return crash;
  // How this call ends does not matter: only what it leaves behind.
  std::ignore =
      arms_.host(Role::candidate).call(Operation::forward, inputs_->bytes(), plan_.first_call);
  const HostView before = machine_.kernels().read(inputs_->memory().bytes());
  const HostView after = machine_.kernels().read(writable->bytes());
  if (std::ranges::equal(before.bytes, after.bytes)) return crash;
  return {Code::input_mutated, "forward wrote to an input"};
}

Result<void, Ending> Evaluation::prepare_arms() {
  if (const auto ready = arms_.prepare(Role::eager, *task_, *weights_, *inputs_); !ready)
    return ready;
  if (task_is_new_ && guards_.admission)
    if (const auto admitted = admit_task(); !admitted) return admitted;
  if (plan_.measure_precision && guards_.weights)
    if (const auto ready = arms_.prepare(Role::reference, *task_, *weights_, *inputs_); !ready)
      return ready;
  if (plan_.looks.empty() || begin_.request.subject == Subject::noise) return {};
  // The rounds come after the checks: the second set of weights is in force then.
  const Weights& last = other_weights_ ? *other_weights_ : *weights_;
  return arms_.prepare(Role::compile, *task_, last, *inputs_);
}

Result<void, Ending> Evaluation::warm_compile() {
  for (std::uint32_t i = 0; i < plan_.warm_ups; ++i) {
    const auto warm = call(Role::compile, i == 0 ? plan_.compile_call : plan_.first_call);
    if (!warm) return tl::unexpected(warm.error());
  }
  return {};
}

/// As many calls of every arm as bring the device to its working clock; their number is eager's.
Result<void, Ending> Evaluation::warm_arms() {
  const double calls = machine_.kernels().warm_up_us() / std::max(eager_us_, 1.0);
  const auto count = static_cast<int>(std::min(std::ceil(calls), kMostWarmUps));
  for (int i = 0; i < count; ++i)
    for (const Role role : {Role::eager, Role::compile, Role::twin, Role::candidate})
      if (arms_.has(role))
        if (const auto warm = call(role, plan_.first_call); !warm)
          return tl::unexpected(warm.error());
  if (count > 0) checker_.forget_held();
  return {};
}

/// The candidate a second time, called as often as a new process needs to be as fast as it will be.
Result<void, Ending> Evaluation::prepare_twin() {
  if (const auto begun = arms_.begin_candidate(solution_, *task_, Role::twin); !begun) return begun;
  const Weights& last = other_weights_ ? *other_weights_ : *weights_;
  if (const auto ready = arms_.finish_candidate(*task_, last, *inputs_, nullptr, Role::twin);
      !ready)
    return ready;
  for (std::uint32_t i = 0; i < plan_.warm_ups; ++i)
    if (const auto warm = call(Role::twin, plan_.first_call); !warm)
      return tl::unexpected(warm.error());
  return {};
}

Result<void, Ending> Evaluation::time_arms() {
  enter("warm_up");
  const bool noise = begin_.request.subject == Subject::noise;
  if (const auto warm = noise ? prepare_twin() : warm_compile(); !warm) return warm;
  if (const auto warm = warm_arms(); !warm) return warm;
  enter("timing");
  Result<void, Ending> ran;
  for (int attempt = 0; attempt < kTimingAttempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(kTimingPause * attempt);
    Rounds rounds(begin_.request.subject, plan_, guards_, root_, machine_, arms_, *inputs_,
                  checker_, [this](std::uint32_t done, std::uint32_t total) {
                    session_.progress("timing", done, total);
                  });
    ran = rounds.run(static_cast<std::uint64_t>(attempt) << 32U);
    record_.checks.insert(record_.checks.end(), rounds.checks().begin(), rounds.checks().end());
    record_.timing = rounds.timing();
    record_.tier = rounds.tier();
    if (ran || ran.error().code != Code::timing_unstable) break;
  }
  return ran;
}

Result<void, Ending> Evaluation::steps() {
  enter("load");
  return begin_.request.subject == Subject::reference ? reference_steps() : solution_steps();
}

/// Eager and compile alone, on equal weights.
Result<void, Ending> Evaluation::reference_steps() {
  if (const auto known = know_task(); !known) return known;
  other_weights_.reset();
  if (const auto ready = prepare_arms(); !ready) return ready;
  if (const auto written = inputs_->write(0, room_); !written) return written;
  for (std::uint32_t i = 0; i < plan_.warm_ups; ++i)
    if (const auto warm = call(Role::eager, plan_.first_call); !warm)
      return tl::unexpected(warm.error());
  return plan_.looks.empty() ? Result<void, Ending>() : time_arms();
}

Result<void, Ending> Evaluation::open_bundle() {
  for (const auto& change : begin_.request.changes)
    record_.policy.push_back({"load_inline", change});
  auto solution = decode_bundle(begin_.request.bundle);
  if (!solution) return tl::unexpected(Ending{Code::infra_error, solution.error()});
  solution_ = std::move(*solution);
  record_.solution_digest = solution_.id;
  record_.toolchain = solution_.toolchain;
  if (solution_.library.empty()) {
    record_.log = solution_.compile_error;
    return tl::unexpected(Ending{Code::compile_error, "the solution does not compile"});
  }
  record_.library_digest = sha256_hex(solution_.library);
  return audit_library();
}

Result<void, Ending> Evaluation::solution_steps() {
  if (const auto opened = open_bundle(); !opened) return opened;
  if (task_)  // else the candidate must wait until the task is known
    if (const auto begun = arms_.begin_candidate(solution_, *task_); !begun) return begun;
  if (const auto known = know_task(); !known) return known;
  if (const auto ready = prepare_arms(); !ready) return ready;
  if (!arms_.has(Role::candidate))
    if (const auto begun = arms_.begin_candidate(solution_, *task_); !begun) return begun;
  if (const auto audited = audit_source(); !audited) return audited;
  if (const auto ready = arms_.finish_candidate(*task_, *weights_, *inputs_, nullptr); !ready)
    return ready;
  checker_.draw_end_bands(arms_.host(Role::candidate));
  if (const auto checked = check_candidate(); !checked) return checked;
  arms_.drop(Role::reference);
  if (const auto whole = checker_.end_bands(arms_.host(Role::candidate)); !whole) return whole;
  if (plan_.looks.empty()) {
    record_.tier = 1;
    return {};
  }
  if (const auto timed = time_arms(); !timed) return timed;
  if (begin_.request.subject == Subject::noise) record_.tier = 1;
  return checker_.end_bands(arms_.host(Role::candidate));
}

/// A device of which one cannot be sure decides nothing, whatever the candidate did.
void Evaluation::look_after_device() {
  const bool gone = arms_.end_candidate();
  const std::string why =
      gone ? machine_.kernels().trouble() : "the candidate's process does not go away";
  if (!why.empty()) record_.ending = {Code::infra_error, "the device is in doubt: " + why};
}

std::string Evaluation::run() {
  record_.root_seed =
      to_hex(std::string_view(reinterpret_cast<const char*>(root_.data()), root_.size()));
  if (const auto done = steps(); !done) {
    record_.ending = done.error();
    record_.tier = 0;
    const bool told = std::ranges::any_of(record_.policy, [this](const PolicyFinding& finding) {
      return finding.rule == record_.ending.rule;
    });
    if (record_.ending.code == Code::policy_violation && !told)
      record_.policy.push_back({record_.ending.rule, record_.ending.detail});
  }
  const std::string ended_in = record_.phase;
  enter("wind_up");
  if (arms_.has(Role::candidate)) record_.log += arms_.host(Role::candidate).log();
  look_after_device();
  describe_machine();
  const bool known = task_is_new_ && record_.ending.code != Code::task_invalid;
  // What was learned without a guard must not serve those who are judged with it.
  if (known && guards_.admission && guards_.hidden) session_.facts(*task_);
  const bool keep_task_host = task_ && inputs_ && inputs_->distribution() == "opaque";
  const bool sound =
      record_.ending.code != Code::task_invalid && record_.ending.code != Code::infra_error;
  if (sound)
    for (auto& parts : arms_.release_residents(keep_task_host)) session_.keep(std::move(parts));
  enter("done");
  if (record_.ending.code != Code::ok) record_.phase = ended_in;
  if (begin_.request.mode == Mode::score && begin_.request.subject == Subject::solution)
    record_.reward = reward_of(record_.ending.code, record_.tier);
  record_.total_ms = milliseconds_since(started_);
  return encode_verdict(begin_.request, record_);
}

}  // namespace swage::judge
