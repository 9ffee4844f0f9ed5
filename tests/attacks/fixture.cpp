#include "tests/attacks/fixture.hpp"

#include <algorithm>

#include "common/base/files.hpp"
#include "common/config/yaml.hpp"

namespace swage::attacks {
namespace {

namespace fs = std::filesystem;

Expected expected_of(const std::string& text) {
  const auto bracket = text.find('(');
  if (bracket == text.npos) return {text};
  return {text.substr(0, bracket), text.substr(bracket + 1, text.size() - bracket - 2)};
}

Result<Fixture, std::string> read_fixture(const fs::path& folder) {
  const auto wrong = [&](const std::string& why) {
    return tl::unexpected((folder / "fixture.yaml").string() + ": " + why);
  };
  const auto text = read_file(folder / "fixture.yaml");
  if (!text) return wrong(text.error().message);
  const auto parsed = parse_yaml(*text, "fixture.yaml");
  if (!parsed || parsed->size() != 1) return wrong("not one YAML document");
  const auto& yaml = parsed->front().value;
  for (const char* field : {"id", "title", "task", "guards", "mode", "off", "on"})
    if (!yaml.contains(field)) return wrong(std::string("no field ") + field);
  Fixture out;
  out.id = yaml["id"].get<std::string>();
  out.name = folder.filename();
  out.title = yaml["title"].get<std::string>();
  out.task = yaml["task"].get<std::string>();
  out.twin_task = yaml.value("twin_task", out.task);
  out.mode = yaml["mode"].get<std::string>();
  out.library = yaml.value("library", "cuda_extension");
  out.precision = yaml.value("precision", "official");
  out.guards = yaml["guards"].get<std::vector<std::string>>();
  out.off = expected_of(yaml["off"].get<std::string>());
  out.on = expected_of(yaml["on"].get<std::string>());
  out.off_fast = yaml.value("off_fast", false);
  out.off_tier = yaml.value("off_tier", 0U);
  out.on_tier = yaml.value("on_tier", 0U);
  out.log = yaml.value("log", "");
  out.detail = yaml.value("detail", "");
  const auto model_new = read_file(folder / "model_new.py");
  const auto twin = read_file(folder / "twin.py");
  if (!model_new || !twin) return wrong("model_new.py or twin.py is missing");
  out.model_new = *model_new;
  out.twin = *twin;
  return out;
}

}  // namespace

Result<std::vector<Fixture>, std::string> read_fixtures(const fs::path& folder) {
  std::vector<Fixture> out;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    auto fixture = read_fixture(entry.path());
    if (!fixture) return tl::unexpected(fixture.error());
    out.push_back(std::move(*fixture));
  }
  if (out.empty()) return tl::unexpected("no fixtures in " + folder.string());
  std::ranges::sort(out, {}, &Fixture::name);
  return out;
}

}  // namespace swage::attacks
