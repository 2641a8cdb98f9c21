#include "runtime/output/escape.h"

#include <algorithm>
#include <cstdint>

namespace memtrace::output {
namespace {

constexpr char kHex[] = "0123456789abcdef";

bool IsPrintableAscii(char c) { return c >= 0x20 && c < 0x7f; }

void AppendByte(std::string& out, char c) {
  auto byte = static_cast<uint8_t>(c);
  out += "\\x";
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

// U+0080 to U+009F: one-character forms of escape sequences.
bool IsC1Control(std::string_view character) {
  return character.size() == 2 && character[0] == '\xc2' &&
         static_cast<uint8_t>(character[1]) < 0xa0;
}

}  // namespace

size_t Utf8Length(std::string_view text) {
  if (text.empty()) return 0;
  auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  // 0xc0 and 0xc1 would be overlong, 0xf5 and above are beyond U+10FFFF.
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;   // overlong
  if (lead == 0xed && byte(1) >= 0xa0) return 0;  // surrogates
  if (lead == 0xf0 && byte(1) < 0x90) return 0;   // overlong
  if (lead == 0xf4 && byte(1) >= 0x90) return 0;  // beyond U+10FFFF
  return length;
}

void AppendEscaped(std::string& out, std::string_view text, Escape escape) {
  while (!text.empty()) {
    auto plain = std::find_if_not(text.begin(), text.end(), IsPrintableAscii) - text.begin();
    out.append(text.data(), plain);
    text.remove_prefix(plain);
    if (text.empty()) return;

    size_t length = Utf8Length(text);
    if (length > 1 && !IsC1Control(text.substr(0, length))) {
      out.append(text.data(), length);
    } else if (length == 1 && (text[0] == '\n' || text[0] == '\t')) {
      if (escape == Escape::kKeepLayout) {
        out += text[0];
      } else {
        out += text[0] == '\n' ? "\\n" : "\\t";
      }
    } else {
      length = std::max<size_t>(length, 1);
      for (char c : text.substr(0, length)) AppendByte(out, c);
    }
    text.remove_prefix(length);
  }
}

void AppendJsonString(std::string& out, std::string_view text) {
  auto is_plain = [](char c) { return IsPrintableAscii(c) && c != '"' && c != '\\'; };
  out += '"';
  while (!text.empty()) {
    auto plain = std::find_if_not(text.begin(), text.end(), is_plain) - text.begin();
    out.append(text.data(), plain);
    text.remove_prefix(plain);
    if (text.empty()) break;

    size_t length = Utf8Length(text);
    auto byte = static_cast<uint8_t>(text[0]);
    if (length == 0) {
      out += '\\';  // a backslash in the string that is meant
      AppendByte(out, text[0]);
      length = 1;
    } else if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[0];
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out.append(text.data(), length);
    }
    text.remove_prefix(length);
  }
  out += '"';
}

}  // namespace memtrace::output
