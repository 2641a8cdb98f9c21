// C++ names as people write them.
#include <cstdlib>

#include <cxxabi.h>

#include "compiler/user/binary.h"

namespace memtrace::user {

std::string Demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return "";
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : "";
  std::free(text);
  return result;
}

// The parameters are what the last group of parentheses at the end holds; `operator()` and
// templates have parentheses of their own before it.
std::string_view WithoutParameters(std::string_view signature) {
  size_t end = signature.rfind(')');
  if (end == std::string_view::npos) return signature;
  int depth = 0;
  for (size_t i = end + 1; i-- > 0;) {
    if (signature[i] == ')') ++depth;
    if (signature[i] == '(' && --depth == 0) return signature.substr(0, i);
  }
  return signature;
}

}  // namespace memtrace::user
