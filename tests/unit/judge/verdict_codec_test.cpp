#include "gpu_pool/judge/adapters/verdict_codec.hpp"

#include <gtest/gtest.h>

#include "swage/v1/bundle.pb.h"
#include "swage/v1/verdict.pb.h"

namespace swage::judge {
namespace {

v1::Verdict encoded(const VerdictRecord& record) {
  JudgeRequest request;
  request.request = "r-1";
  request.rollout_id = "manual-1";
  request.mode = Mode::score;
  request.counter = 9;
  v1::Verdict verdict;
  EXPECT_TRUE(verdict.ParseFromString(encode_verdict(request, record)));
  return verdict;
}

TEST(VerdictCodec, WhatWasNotMeasuredIsAbsent) {
  VerdictRecord record;
  record.ending = {Code::load_error, "no"};
  const auto verdict = encoded(record);
  EXPECT_EQ(verdict.code(), v1::VERDICT_CODE_LOAD_ERROR);
  EXPECT_FALSE(verdict.has_timing());
  EXPECT_FALSE(verdict.has_reward());
  EXPECT_FALSE(verdict.has_precision_pass());
  EXPECT_FALSE(verdict.gate_pass()) << "no check, no pass";
  EXPECT_EQ(verdict.lease_token().counter(), 9U);
}

TEST(VerdictCodec, CodesHaveTheNumbersOfTheWire) {
  for (int code = 1; code <= static_cast<int>(Code::infra_error); ++code) {
    const auto name = v1::VerdictCode_Name(static_cast<v1::VerdictCode>(code));
    std::string lower;
    for (const char letter : name.substr(std::string("VERDICT_CODE_").size()))
      lower += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    EXPECT_EQ(lower, name_of(static_cast<Code>(code)));
  }
}

TEST(VerdictCodec, UntrustedTextIsQuotedAndBounded) {
  VerdictRecord record;
  record.ending = {Code::crash, "\x1B[2J" + std::string(9000, 'x')};
  record.log = std::string(99999, '\xFF');
  const auto verdict = encoded(record);
  EXPECT_LE(verdict.detail().size(), 4096U);
  EXPECT_LE(verdict.log().size(), 16384U);
  EXPECT_TRUE(verdict.detail().starts_with("\\x1b[2J"));
}

TEST(VerdictCodec, MissingLayersReduceTrust) {
  VerdictRecord record;
  EXPECT_EQ(encoded(record).trust().level(), "full");
  record.missing_layers = {"cgroup"};
  EXPECT_EQ(encoded(record).trust().level(), "reduced");
  EXPECT_EQ(encoded(record).trust().missing(0), "cgroup");
}

TEST(DecodeBundle, RefusesPathsThatLeaveTheWorkSpace) {
  for (const char* path : {"/etc/passwd", "../x", "a/../../x", ""}) {
    v1::Bundle bundle;
    bundle.add_files()->set_path(path);
    EXPECT_FALSE(decode_bundle(bundle.SerializeAsString()).has_value()) << path;
  }
  v1::Bundle bundle;
  bundle.add_files()->set_path("kernels/a..b.cpp");
  EXPECT_TRUE(decode_bundle(bundle.SerializeAsString()).has_value());
  EXPECT_FALSE(decode_bundle("\xFF\xFF not a bundle").has_value());
}

}  // namespace
}  // namespace swage::judge
