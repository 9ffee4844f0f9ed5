#include "gpu_pool/judge/adapters/task_facts.hpp"

namespace swage::judge {
namespace {

constexpr std::size_t kMaxArguments = 64;
constexpr std::size_t kMaxState = 4096;

std::optional<std::vector<std::int64_t>> parse_sizes(const nlohmann::json& list) {
  if (!list.is_array() || list.size() > 8) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const auto& item : list) {
    if (!item.is_number_integer()) return std::nullopt;
    out.push_back(item.get<std::int64_t>());
  }
  return out;
}

std::optional<TensorSpec> parse_spec(const nlohmann::json& record) {
  if (!record.is_object() || !record.contains("dtype") || !record["dtype"].is_string() ||
      !record.contains("shape"))
    return std::nullopt;
  const auto type = element_type_of(record["dtype"].get<std::string>());
  const auto shape = parse_sizes(record["shape"]);
  if (!type || !shape) return std::nullopt;
  TensorSpec spec{*type, *shape, contiguous_stride(*shape)};
  if (record.contains("stride")) {
    const auto stride = parse_sizes(record["stride"]);
    if (!stride) return std::nullopt;
    spec.stride = *stride;
  }
  if (!span_elements(spec)) return std::nullopt;
  return spec;
}

std::optional<Recipe> parse_recipe(const nlohmann::json& record) {
  if (!record.is_object() || !record.contains("law") || !record["law"].is_string() ||
      !record.value("a", nlohmann::json()).is_number() ||
      !record.value("b", nlohmann::json()).is_number())
    return std::nullopt;
  const auto law = law_of(record["law"].get<std::string>());
  if (!law) return std::nullopt;
  return Recipe{*law, record["a"].get<double>(), record["b"].get<double>()};
}

std::string_view law_name(Law law) {
  switch (law) {
    case Law::uniform:
      return "uniform";
    case Law::normal:
      return "normal";
    case Law::randint:
      return "randint";
    case Law::perm:
      return "perm";
    case Law::constant:
      return "const";
  }
  return "";
}

nlohmann::json spec_json(const TensorSpec& spec) {
  return {
      {"dtype", std::string(name_of(spec.type))}, {"shape", spec.shape}, {"stride", spec.stride}};
}

}  // namespace

std::optional<std::vector<StateTensor>> parse_state(const nlohmann::json& list) {
  if (!list.is_array() || list.size() > kMaxState) return std::nullopt;
  std::vector<StateTensor> out;
  for (const auto& record : list) {
    auto spec = parse_spec(record);
    if (!spec || !record.contains("name") || !record["name"].is_string()) return std::nullopt;
    out.push_back({record["name"].get<std::string>(), std::move(*spec)});
  }
  return out;
}

Result<TaskFacts, std::string> parse_facts(const nlohmann::json& message) {
  TaskFacts facts;
  facts.init_args = message.value("init_args", nlohmann::json::array());
  const auto args = message.value("args", nlohmann::json());
  if (!args.is_array() || args.size() > kMaxArguments)
    return tl::unexpected<std::string>("get_inputs() returns too many arguments");
  for (const auto& item : args) {
    Argument argument;
    if (item.contains("tensor")) {
      argument.tensor = parse_spec(item["tensor"]);
      if (!argument.tensor)
        return tl::unexpected<std::string>("get_inputs() returns an impossible tensor");
      if (item["tensor"].contains("recipe"))
        argument.recipe = parse_recipe(item["tensor"]["recipe"]);
    } else {
      argument.value = item.value("value", nlohmann::json());
    }
    facts.args.push_back(std::move(argument));
  }
  auto state = parse_state(message.value("state", nlohmann::json()));
  if (!state) return tl::unexpected<std::string>("Model has an impossible state");
  facts.state = std::move(*state);
  const auto absolute = message.value("absolute", nlohmann::json());
  if (absolute.is_number()) facts.absolute = absolute.get<double>();
  for (const auto& name : message.value("hidden", nlohmann::json::array()))
    if (name.is_string())
      if (const auto which = hidden_of(name.get<std::string>())) facts.hidden.push_back(*which);
  return facts;
}

std::uint64_t needed_bytes(const TaskFacts& facts) {
  const auto bytes = [](const TensorSpec& spec) {
    return span_elements(spec).value_or(0) * size_of(spec.type);
  };
  std::uint64_t sum = 0;
  for (const auto& argument : facts.args)
    if (argument.tensor) sum += 2 * bytes(*argument.tensor);
  for (const auto& tensor : facts.state) sum += 3 * bytes(tensor.spec);
  return sum;
}

nlohmann::json facts_json(const TaskFacts& facts) {
  nlohmann::json args = nlohmann::json::array();
  for (const auto& argument : facts.args) {
    if (!argument.tensor) {
      args.push_back({{"value", argument.value}});
      continue;
    }
    auto record = spec_json(*argument.tensor);
    if (argument.recipe)
      record["recipe"] = {{"law", std::string(law_name(argument.recipe->law))},
                          {"a", argument.recipe->a},
                          {"b", argument.recipe->b}};
    args.push_back({{"tensor", std::move(record)}});
  }
  nlohmann::json state = nlohmann::json::array();
  for (const auto& tensor : facts.state) {
    auto record = spec_json(tensor.spec);
    record["name"] = tensor.name;
    state.push_back(std::move(record));
  }
  nlohmann::json hidden = nlohmann::json::array();
  for (const Hidden which : facts.hidden) hidden.push_back(std::string(name_of(which)));
  nlohmann::json out{{"init_args", facts.init_args},
                     {"args", std::move(args)},
                     {"state", std::move(state)},
                     {"hidden", std::move(hidden)}};
  if (facts.absolute) out["absolute"] = *facts.absolute;
  return out;
}

nlohmann::json place_json(const TensorSpec& spec, std::uint64_t offset) {
  auto record = spec_json(spec);
  record["offset"] = offset;
  return record;
}

}  // namespace swage::judge
