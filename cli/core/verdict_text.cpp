#include "cli/core/verdict_text.hpp"

#include <cstdio>

namespace swage::cli {
namespace {

std::string text_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string arm_line(const char* name, const nlohmann::json& arm) {
  char line[96];
  std::snprintf(line, sizeof line, "%-10s %12.1f us   cv %.3f\n", name,
                arm.value("calibrated_us", 0.0), arm.value("cv", 0.0));
  return line;
}

std::string ratio_line(const char* of, const char* against, const nlohmann::json& ratio) {
  char line[128];
  std::snprintf(line, sizeof line, "%s / %-8s %.3f   [%.3f, %.3f]\n", of, against,
                ratio.value("median", 0.0), ratio.value("lo", 0.0), ratio.value("hi", 0.0));
  return line;
}

}  // namespace

std::string verdict_text(const nlohmann::json& verdict) {
  std::string out = text_of(verdict, "code") + " (" + text_of(verdict, "mode") + ")";
  if (verdict.contains("tier")) out += ", tier " + text_of(verdict, "tier");
  if (verdict.contains("reward")) out += ", reward " + text_of(verdict, "reward");
  out += "\n";
  if (const auto detail = text_of(verdict, "detail"); !detail.empty()) out += detail + "\n";
  if (const auto timing = verdict.find("timing"); timing != verdict.end()) {
    if (timing->contains("eager")) out += arm_line("eager", timing->at("eager"));
    if (timing->contains("compile")) out += arm_line("compile", timing->at("compile"));
    if (timing->contains("candidate")) out += arm_line("candidate", timing->at("candidate"));
    if (timing->contains("twin")) out += arm_line("twin", timing->at("twin"));
    if (timing->contains("q_eager")) out += ratio_line("candidate", "eager", timing->at("q_eager"));
    if (timing->contains("q_compile"))
      out += ratio_line("candidate", "compile", timing->at("q_compile"));
    if (timing->contains("q_twin")) out += ratio_line("candidate", "twin", timing->at("q_twin"));
    if (timing->contains("q_reference"))
      out += ratio_line("compile", "eager", timing->at("q_reference"));
  }
  if (const auto checks = verdict.find("checks");
      checks != verdict.end() && checks->is_array() && !checks->empty()) {
    int passed = 0;
    for (const auto& check : *checks) passed += check.value("passed", false) ? 1 : 0;
    out +=
        "checks " + std::to_string(passed) + " of " + std::to_string(checks->size()) + " passed\n";
  }
  if (const auto findings = verdict.find("policy"); findings != verdict.end())
    for (const auto& finding : *findings)
      out += "policy " + text_of(finding, "rule") + ": " + text_of(finding, "detail") + "\n";
  if (const auto trust = verdict.find("trust"); trust != verdict.end()) {
    out += "trust " + text_of(*trust, "level");
    const auto missing = trust->find("missing");
    if (missing != trust->end() && missing->is_array() && !missing->empty()) {
      out += ", missing:";
      for (const auto& layer : *missing) out += " " + layer.get<std::string>();
    }
    out += "\n";
  }
  return out;
}

}  // namespace swage::cli
