#include "cli/core/verdict_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace swage::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const nlohmann::json kArm{{"raw_us", 12.0}, {"calibrated_us", 10.0}, {"cv", 0.01}};
const nlohmann::json kRatio{{"median", 0.5}, {"lo", 0.4}, {"hi", 0.6}};

TEST(VerdictText, ShowsArmsRatiosTierAndFindings) {
  const auto text =
      verdict_text({{"code", "ok"},
                    {"mode", "score"},
                    {"tier", 3},
                    {"reward", 3.0},
                    {"timing", {{"eager", kArm}, {"candidate", kArm}, {"q_eager", kRatio}}},
                    {"policy", {{{"rule", "load_inline"}, {"detail", "taken out"}}}}});
  EXPECT_THAT(text, HasSubstr("ok (score), tier 3, reward 3.0\n"));
  EXPECT_THAT(text, HasSubstr("candidate          10.0 us"));
  EXPECT_THAT(text, HasSubstr("candidate / eager    0.500   [0.400, 0.600]"));
  EXPECT_THAT(text, HasSubstr("policy load_inline: taken out\n"));
}

TEST(VerdictText, ShowsWhatWasMeasuredAndNothingElse) {
  const auto text =
      verdict_text({{"code", "ok"},
                    {"mode", "score"},
                    {"checks", nlohmann::json::array()},
                    {"timing", {{"eager", kArm}, {"compile", kArm}, {"q_reference", kRatio}}}});
  EXPECT_THAT(text, HasSubstr("compile / eager    0.500"));
  EXPECT_THAT(text, Not(HasSubstr("candidate")));
  EXPECT_THAT(text, Not(HasSubstr("checks")));
}

}  // namespace
}  // namespace swage::cli
