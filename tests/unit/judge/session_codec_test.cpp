#include <gtest/gtest.h>

#include "gpu_pool/judge/api/session.hpp"

namespace swage::judge {
namespace {

TEST(SessionCodec, AnAssignmentSurvivesTheWay) {
  SessionBegin begin;
  begin.request.request = "r-1";
  begin.request.mode = Mode::score;
  begin.request.one_machine = true;
  begin.request.subject = Subject::noise;
  begin.request.rounds = 40;
  begin.request.budget_s = 9;
  begin.request.changes = {"taken out"};
  begin.request.counter = (1ULL << 53) - 1;
  begin.scratch = "/tmp/x";
  begin.host_cores = {1, 2};
  begin.judge_cores = {0};
  begin.missing_layers = {"seccomp"};
  begin.known_task = true;
  begin.residents = {{"eager", 77, 1ULL << 31}};
  const auto read = decode_begin(encode(begin));
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(read->request.request, "r-1");
  EXPECT_EQ(read->request.mode, Mode::score);
  EXPECT_TRUE(read->request.one_machine);
  EXPECT_EQ(read->request.subject, Subject::noise);
  EXPECT_EQ(read->request.rounds, 40U);
  EXPECT_EQ(read->request.budget_s, 9U);
  EXPECT_EQ(read->request.changes, begin.request.changes);
  EXPECT_EQ(read->request.counter, begin.request.counter);
  EXPECT_EQ(read->host_cores, begin.host_cores);
  EXPECT_EQ(read->missing_layers, begin.missing_layers);
  ASSERT_EQ(read->residents.size(), 1U);
  EXPECT_EQ(read->residents[0].arena_bytes, 1ULL << 31);
}

TEST(SessionCodec, NewsSurvivesTheWay) {
  SessionNews progress;
  progress.progress = {"timing", 3, 12};
  EXPECT_EQ(decode_news(encode(progress))->progress.done, 3U);
  SessionNews keep;
  keep.kind = SessionNews::Kind::keep;
  keep.host = {"compile", 12, 4096};
  EXPECT_EQ(decode_news(encode(keep))->host.role, "compile");
}

TEST(SessionCodec, RefusesWhatItCannotRead) {
  EXPECT_FALSE(decode_begin("{}").has_value());
  EXPECT_FALSE(decode_begin("not json").has_value());
  EXPECT_FALSE(decode_news(R"({"kind":"keep"})").has_value());
}

}  // namespace
}  // namespace swage::judge
