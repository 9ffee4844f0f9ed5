#include "common/rpc/valid_text.hpp"

#include <gtest/gtest.h>

#include "swage/v1/sandbox.pb.h"
#include "swage/v1/verdict.pb.h"

namespace swage {
namespace {

const std::string kBad = "x\xff\xfey";
const std::string kMended = "x\xef\xbf\xbd\xef\xbf\xbdy";

TEST(ValidText, IsMendedInFieldsListsMapsAndMessagesWithin) {
  v1::SessionUp up;
  auto& bundle = *up.mutable_packed()->mutable_bundle();
  bundle.set_compile_error(kBad);
  bundle.add_files()->set_path("plain");
  bundle.add_files()->set_path(kBad);
  bundle.mutable_compile()->add_argv("plain");
  bundle.mutable_compile()->add_argv(kBad);
  make_text_valid(up);
  EXPECT_EQ(bundle.compile_error(), kMended);
  EXPECT_EQ(bundle.files(0).path(), "plain");
  EXPECT_EQ(bundle.files(1).path(), kMended);
  EXPECT_EQ(bundle.compile().argv(0), "plain");
  EXPECT_EQ(bundle.compile().argv(1), kMended);

  v1::Verdict verdict;
  (*verdict.mutable_phase_ms())["plain"] = 1;
  (*verdict.mutable_phase_ms())[kBad] = 2;
  make_text_valid(verdict);
  v1::Verdict read;
  ASSERT_TRUE(read.ParseFromString(verdict.SerializeAsString()));
  EXPECT_EQ(read.phase_ms().at("plain"), 1U);
  EXPECT_EQ(read.phase_ms().at(kMended), 2U);
}

TEST(ValidText, BytesAndTextThatIsValidStayAsTheyAre) {
  v1::Bundle bundle;
  bundle.set_library(kBad);
  bundle.add_files()->set_content(kBad);
  bundle.set_compile_error(
      "gr\xc3\xbc\xc3\x9f"
      "e");
  const auto before = bundle.SerializeAsString();
  make_text_valid(bundle);
  EXPECT_EQ(bundle.SerializeAsString(), before);
}

TEST(ValidText, WithoutItTheOtherEndRefusesTheMessage) {
  v1::SessionUp up;
  up.mutable_result()->set_text(kBad);
  v1::SessionUp read;
  EXPECT_FALSE(read.ParseFromString(up.SerializeAsString()));
  make_text_valid(up);
  EXPECT_TRUE(read.ParseFromString(up.SerializeAsString()));
  EXPECT_EQ(read.result().text(), kMended);
}

}  // namespace
}  // namespace swage
