#include "compiler/syntax/probe_text.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace memtrace::syntax {
namespace {

// Providers whose second part is the name of a file. Only for relative paths does the lexer need to
// know; the provider's own row says the rest.
bool HasFileName(std::string_view provider) {
  constexpr std::string_view kProviders[] = {"uprobe", "uretprobe", "usdt", "u", "ur"};
  std::string lower(provider);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::count(std::begin(kProviders), std::end(kProviders), lower) > 0;
}

bool EndsProbe(char c) {
  return static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == ',' || c == '{' || c == '}' ||
         c == '|' || c == ';' || c == '#';
}

// The end of the quoted text that begins at `from`: behind its closing quote, or npos.
size_t EndOfQuote(std::string_view text, size_t from) {
  for (size_t i = from + 1; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace

ProbeExtent MeasureProbe(std::string_view text) {
  size_t part = 0, part_begin = 0;
  bool path = false;
  size_t at = 0;
  for (; at < text.size() && !EndsProbe(text[at]); ++at) {
    const char c = text[at];
    const bool is_ascii = static_cast<unsigned char>(c) < 0x80;
    if (c == '"') {
      const size_t end = EndOfQuote(text, at);
      if (end == std::string_view::npos) {
        return {std::min(text.find('\n', at), text.size()), true, at};
      }
      at = end - 1;
    } else if (c == ':') {
      ++part;
      part_begin = at + 1;
      path = part == 1 && HasFileName(text.substr(0, at));
    } else if (c == '/') {
      path = path || (part > 0 && at == part_begin);
      if (!path) break;
    } else if (!is_ascii && !path) {
      break;
    }
  }
  return {at, false, 0};
}

std::vector<ProbePart> SplitProbe(std::string_view text, diag::Span span) {
  std::vector<ProbePart> parts;
  ProbePart part{.text = {}, .span = {span.begin, span.begin}};
  for (size_t at = 0; at < text.size(); ++at) {
    const uint32_t place = span.begin + static_cast<uint32_t>(at);
    if (text[at] == ':') {
      part.span.end = place;
      parts.push_back(std::move(part));
      part = {.text = {}, .span = {place + 1, place + 1}};
    } else if (text[at] == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\' && at + 1 < text.size()) ++at;
        part.text += text[at];
      }
    } else {
      part.text += text[at];
    }
  }
  part.span.end = span.begin + static_cast<uint32_t>(text.size());
  parts.push_back(std::move(part));
  return parts;
}

}  // namespace memtrace::syntax
