#include "common/rpc/valid_text.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "common/base/utf8.hpp"

namespace swage {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::vector<const FieldDescriptor*> set_fields(const Message& message) {
  std::vector<const FieldDescriptor*> out;
  message.GetReflection()->ListFields(message, &out);
  return out;
}

bool is_text(const FieldDescriptor& field) { return field.type() == FieldDescriptor::TYPE_STRING; }
bool is_message(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

bool all_valid(const Message& message);

bool is_valid(const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  std::string scratch;
  if (!is_text(field) && !is_message(field)) return true;
  if (!field.is_repeated())
    return is_text(field) ? is_valid_utf8(reflection.GetStringReference(message, &field, &scratch))
                          : all_valid(reflection.GetMessage(message, &field));
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    const bool valid =
        is_text(field)
            ? is_valid_utf8(reflection.GetRepeatedStringReference(message, &field, i, &scratch))
            : all_valid(reflection.GetRepeatedMessage(message, &field, i));
    if (!valid) return false;
  }
  return true;
}

bool all_valid(const Message& message) {
  return std::ranges::all_of(set_fields(message),
                             [&](const auto* field) { return is_valid(message, *field); });
}

void mend(Message& message);

void mend_field(Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  if (!field.is_repeated()) {
    if (is_text(field))
      reflection.SetString(&message, &field, to_valid_utf8(reflection.GetString(message, &field)));
    else
      mend(*reflection.MutableMessage(&message, &field));
    return;
  }
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    if (is_text(field))
      reflection.SetRepeatedString(&message, &field, i,
                                   to_valid_utf8(reflection.GetRepeatedString(message, &field, i)));
    else
      mend(*reflection.MutableRepeatedMessage(&message, &field, i));
  }
}

void mend(Message& message) {
  for (const auto* field : set_fields(message))
    if (!is_valid(message, *field)) mend_field(message, *field);
}

}  // namespace

void make_text_valid(google::protobuf::Message& message) { mend(message); }

}  // namespace swage
