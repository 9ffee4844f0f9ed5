#include <nlohmann/json.hpp>

#include "common/base/json_text.hpp"
#include "gpu_pool/judge/api/session.hpp"

namespace swage::judge {
namespace {

using nlohmann::json;

json host_json(const ResidentHost& host) {
  return {{"role", host.role}, {"pid", host.pid}, {"arena_bytes", host.arena_bytes}};
}

ResidentHost host_from(const json& at) {
  return {at.at("role").get<std::string>(), at.at("pid").get<std::int64_t>(),
          at.at("arena_bytes").get<std::uint64_t>()};
}

json request_json(const JudgeRequest& request) {
  return {{"request", request.request},
          {"rollout_id", request.rollout_id},
          {"attempt", request.attempt},
          {"run_uid", request.run_uid},
          {"pool", request.pool},
          {"epoch", request.epoch},
          {"counter", request.counter},
          {"mode", static_cast<int>(request.mode)},
          {"task_id", request.task_id},
          {"task_digest", request.task_digest},
          {"precision", request.precision},
          {"one_machine", request.one_machine},
          {"subject", static_cast<int>(request.subject)},
          {"rounds", request.rounds},
          {"budget_s", request.budget_s},
          {"changes", request.changes},
          {"device", request.device}};
}

JudgeRequest request_from(const json& at) {
  JudgeRequest out;
  at.at("request").get_to(out.request);
  at.at("rollout_id").get_to(out.rollout_id);
  at.at("attempt").get_to(out.attempt);
  at.at("run_uid").get_to(out.run_uid);
  at.at("pool").get_to(out.pool);
  at.at("epoch").get_to(out.epoch);
  at.at("counter").get_to(out.counter);
  out.mode = static_cast<Mode>(at.at("mode").get<int>());
  at.at("task_id").get_to(out.task_id);
  at.at("task_digest").get_to(out.task_digest);
  at.at("precision").get_to(out.precision);
  at.at("one_machine").get_to(out.one_machine);
  out.subject = static_cast<Subject>(at.at("subject").get<int>());
  at.at("rounds").get_to(out.rounds);
  at.at("budget_s").get_to(out.budget_s);
  at.at("changes").get_to(out.changes);
  at.at("device").get_to(out.device);
  return out;
}

/// Runs a decoder that may throw json's exceptions.
template <class T, class Fn>
Result<T, std::string> guarded(std::string_view text, Fn decode) {
  try {
    return decode(json::parse(text));
  } catch (const json::exception& e) {
    return tl::unexpected(std::string("malformed packet: ") + e.what());
  }
}

}  // namespace

std::string encode(const SessionBegin& begin) {
  json hosts = json::array();
  for (const auto& host : begin.residents) hosts.push_back(host_json(host));
  return json_text(json{{"request", request_json(begin.request)},
                        {"scratch", begin.scratch},
                        {"host_cores", begin.host_cores},
                        {"judge_cores", begin.judge_cores},
                        {"memory_bytes", begin.memory_bytes},
                        {"seed", begin.seed},
                        {"missing_layers", begin.missing_layers},
                        {"torch", begin.torch},
                        {"known_task", begin.known_task},
                        {"residents", std::move(hosts)}});
}

Result<SessionBegin, std::string> decode_begin(std::string_view text) {
  return guarded<SessionBegin>(text, [](const json& at) {
    SessionBegin out;
    out.request = request_from(at.at("request"));
    at.at("scratch").get_to(out.scratch);
    at.at("host_cores").get_to(out.host_cores);
    at.at("judge_cores").get_to(out.judge_cores);
    at.at("memory_bytes").get_to(out.memory_bytes);
    at.at("seed").get_to(out.seed);
    at.at("missing_layers").get_to(out.missing_layers);
    at.at("torch").get_to(out.torch);
    at.at("known_task").get_to(out.known_task);
    for (const auto& host : at.at("residents")) out.residents.push_back(host_from(host));
    return out;
  });
}

std::string encode(const SessionNews& news) {
  switch (news.kind) {
    case SessionNews::Kind::progress:
      return json_text(json{{"kind", "progress"},
                            {"phase", news.progress.phase},
                            {"done", news.progress.done},
                            {"total", news.progress.total}});
    case SessionNews::Kind::facts:
      return json_text(json{{"kind", "facts"}});
    case SessionNews::Kind::keep:
      return json_text(json{{"kind", "keep"}, {"host", host_json(news.host)}});
    case SessionNews::Kind::verdict:
      return json_text(json{{"kind", "verdict"}});
  }
  return {};
}

Result<SessionNews, std::string> decode_news(std::string_view text) {
  return guarded<SessionNews>(text, [](const json& at) {
    SessionNews out;
    const auto kind = at.at("kind").get<std::string>();
    if (kind == "progress") {
      out.kind = SessionNews::Kind::progress;
      at.at("phase").get_to(out.progress.phase);
      at.at("done").get_to(out.progress.done);
      at.at("total").get_to(out.progress.total);
    } else if (kind == "facts") {
      out.kind = SessionNews::Kind::facts;
    } else if (kind == "keep") {
      out.kind = SessionNews::Kind::keep;
      out.host = host_from(at.at("host"));
    } else {
      out.kind = SessionNews::Kind::verdict;
    }
    return out;
  });
}

}  // namespace swage::judge
