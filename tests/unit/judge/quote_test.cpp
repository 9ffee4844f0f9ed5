#include "gpu_pool/judge/core/quote.hpp"

#include <gtest/gtest.h>

namespace swage::judge {
namespace {

TEST(Quote, LeavesOrdinaryTextAlone) {
  const std::string text = "one\ntwo\tthree \xC3\xA4 \xE2\x80\x99 \xF0\x9F\x98\x80";
  EXPECT_EQ(quote(text, 100), text);
}

TEST(Quote, EscapesWhatMovesTheCursor) {
  EXPECT_EQ(quote("\x1B[31mred\r\x08\x7F", 100), "\\x1b[31mred\\x0d\\x08\\x7f");
  EXPECT_EQ(quote("\xC2\x9B", 100), "\\xc2\\x9b");  // C1: the one-byte form of ESC [
}

TEST(Quote, EscapesMarksThatReorderText) {
  EXPECT_EQ(quote("a\xE2\x80\xAE"
                  "b",
                  100),
            "a\\xe2\\x80\\xae"
            "b");
  EXPECT_EQ(quote("a\xE2\x81\xA6"
                  "b",
                  100),
            "a\\xe2\\x81\\xa6"
            "b");
}

TEST(Quote, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(quote("\xFF\xC3", 100), "\\xff\\xc3");
  EXPECT_EQ(quote("\xC0\xAF", 100), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(quote("\xED\xA0\x80", 100), "\\xed\\xa0\\x80");  // surrogate
}

TEST(Quote, CutsTheMiddleOutAndSaysHowMuch) {
  const std::string text = std::string(500, 'a') + std::string(500, 'z');
  const std::string out = quote(text, 200);
  EXPECT_LE(out.size(), 200U);
  EXPECT_EQ(out.front(), 'a');
  EXPECT_EQ(out.back(), 'z');
  EXPECT_NE(out.find("bytes left out"), std::string::npos);
  EXPECT_EQ(quote(text, 1000), text) << "just fits";
}

TEST(Quote, DoesNotCutACharacterInTwo) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "\xC3\xA4";
  for (std::size_t limit = 100; limit < 110; ++limit)
    EXPECT_EQ(quote(quote(text, limit), 1000), quote(text, limit));
}

}  // namespace
}  // namespace swage::judge
