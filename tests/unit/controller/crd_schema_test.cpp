#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

#include "common/base/files.hpp"
#include "common/config/yaml.hpp"
#include "controller/adapters/run_file.hpp"

namespace swage::controller {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

/// `spec` of one CustomResourceDefinition of manifests/crds.
json schema_of(const std::string& plural) {
  const char* root = std::getenv("SWAGE_SOURCE_DIR");
  const auto file =
      std::filesystem::path(root == nullptr ? "." : root) / "manifests/crds" / (plural + ".yaml");
  const auto documents = parse_yaml(read_file(file).value(), file.string());
  return documents->at(0).value.at(
      "/spec/versions/0/schema/openAPIV3Schema/properties/spec"_json_pointer);
}

/// A run and its pool as one file, with the least that both need.
struct Pair {
  json run{
      {"apiVersion", "swage.dev/v1alpha1"},
      {"kind", "TrainingRun"},
      {"metadata", {{"name", "probe"}}},
      {"spec", {{"model", {{"source", "scratch:tiny"}}}, {"tasks", {{{"set", "builtin-cpu"}}}}}}};
  json pool{{"apiVersion", "swage.dev/v1alpha1"},
            {"kind", "ProfilingPool"},
            {"metadata", {{"name", "default"}}},
            {"spec", json::object()}};

  Result<RunFile, ConfigError> read() const {
    return parse_run_file(run.dump() + "\n---\n" + pool.dump() + "\n", "probe.yaml");
  }
  std::string complaints() const {
    const auto out = read();
    return out ? "" : out.error().text();
  }
};

/// Calls `visit` for every field of the schema that is no part of a list or a free map.
void walk(const json& schema, const json::json_pointer& at,
          const std::function<void(const json& field, const json::json_pointer& at)>& visit) {
  if (!schema.contains("properties")) return;
  for (const auto& [name, field] : schema["properties"].items()) {
    visit(field, at / name);
    walk(field, at / name, visit);
  }
}

/// `spec.rollouts.concurrency`, as complaints write it.
std::string dotted(const json::json_pointer& at) {
  auto text = at.to_string().substr(1);
  for (auto& c : text)
    if (c == '/') c = '.';
  return text;
}

class CrdSchema : public ::testing::TestWithParam<const char*> {
 protected:
  bool is_run() const { return std::string(GetParam()) == "trainingruns"; }
  /// What the reader says when `value` stands at `at`.
  std::string with(const json::json_pointer& at, const json& value) {
    Pair pair;
    (is_run() ? pair.run : pair.pool)[at] = value;
    return pair.complaints();
  }
  void probe_number(const json& field, const json::json_pointer& at) {
    for (const auto* bound : {"minimum", "maximum"}) {
      if (!field.contains(bound)) continue;
      const auto edge = field[bound].get<double>();
      const bool lower = std::string(bound) == "minimum";
      const auto outside = lower ? edge - 1 : edge + 1;
      const auto as_value = [&](double x) {
        return field["type"] == "integer" ? json(static_cast<std::int64_t>(x)) : json(x);
      };
      EXPECT_THAT(with(at, as_value(edge)), Not(HasSubstr(dotted(at) + " must lie in")));
      EXPECT_THAT(with(at, as_value(outside)), HasSubstr(dotted(at) + " must lie in"));
    }
  }
};

TEST_P(CrdSchema, EveryFieldIsReadHereWithTheSameTypeAndBounds) {
  int fields = 0;
  walk(schema_of(GetParam()), "/spec"_json_pointer, [&](const json& field, const auto& at) {
    ++fields;
    const auto type = field.value("type", "");
    EXPECT_THAT(with(at, nullptr), Not(HasSubstr(dotted(at) + " is not a field")));
    if (type == "integer" || type == "number") {
      probe_number(field, at);
    } else if (field.contains("enum")) {
      for (const auto& value : field["enum"])
        EXPECT_THAT(with(at, value), Not(HasSubstr(dotted(at) + " must be one of")));
      EXPECT_THAT(with(at, "bogus"), HasSubstr(dotted(at) + " must be one of"));
    } else if (type == "boolean") {
      EXPECT_THAT(with(at, false), Not(HasSubstr(dotted(at) + " must be true")));
      EXPECT_THAT(with(at, 1), HasSubstr(dotted(at) + " must be true or false"));
    }
  });
  EXPECT_GE(fields, 30);
}

TEST_P(CrdSchema, EveryObjectIsClosedHereToo) {
  walk(schema_of(GetParam()), "/spec"_json_pointer, [&](const json& field, const auto& at) {
    if (!field.contains("properties")) return;  // a map with names of the user's
    EXPECT_THAT(with(at / "bogus", 1), HasSubstr(dotted(at) + ".bogus is not a field here"));
  });
}

TEST_P(CrdSchema, EveryDefaultIsTheOneOfTheReader) {
  const auto plain = Pair{}.read();
  ASSERT_TRUE(plain) << plain.error().text();
  int defaults = 0;
  walk(schema_of(GetParam()), "/spec"_json_pointer, [&](const json& field, const auto& at) {
    if (!field.contains("default")) return;
    ++defaults;
    Pair pair;
    (is_run() ? pair.run : pair.pool)[at] = field["default"];
    const auto given = pair.read();
    ASSERT_TRUE(given) << given.error().text();
    EXPECT_EQ(given->run, plain->run) << dotted(at);
    EXPECT_EQ(given->pool, plain->pool) << dotted(at);
  });
  EXPECT_GT(defaults, 10);
}

TEST_P(CrdSchema, TheSameFieldsAreRequired) {
  for (const auto& name : schema_of(GetParam()).value("required", json::array())) {
    Pair pair;
    (is_run() ? pair.run : pair.pool)["spec"].erase(name.get<std::string>());
    EXPECT_THAT(pair.complaints(), HasSubstr("spec." + name.get<std::string>()));
  }
}

INSTANTIATE_TEST_SUITE_P(BothKinds, CrdSchema, ::testing::Values("trainingruns", "profilingpools"),
                         [](const auto& kind) { return std::string(kind.param); });

}  // namespace
}  // namespace swage::controller
