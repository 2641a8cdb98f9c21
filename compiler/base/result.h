// Result<T>: what a step that touches the outside world returns.
//
// An Error carries a kind that callers may act on and a message for people. Each layer adds its context
// once: `attach kprobe:foo: open tracefs: permission denied`. Mistakes in the user's program do not
// travel here (diag/diagnostics.h), and neither do our own bugs (base/check.h).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "compiler/base/check.h"

namespace memtrace {

enum class ErrorKind {
  kOther,
  kNotFound,     // the file, symbol or event does not exist
  kPermission,   // EPERM or EACCES: more rights would help
  kUnsupported,  // this kernel cannot do it
  kInvalid,      // the outside world gave us data that we cannot read
  kRejected,     // the BPF verifier refused a program
  kBusy,         // may work when tried again
};

class [[nodiscard]] Error {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  // An Error from errno as it is now: "WHAT: No such file or directory".
  static Error FromErrno(std::string_view what);
  // The same from a positive error number.
  static Error FromErrno(std::string_view what, int error_number);

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  Error WithContext(std::string_view what) const {
    return Error(kind_, std::string(what) + ": " + message_);
  }

 private:
  ErrorKind kind_;
  std::string message_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  T& value() & { return Checked(); }
  const T& value() const& { return const_cast<Result*>(this)->Checked(); }
  T&& value() && { return std::move(Checked()); }
  const Error& error() const {
    MT_CHECK(!ok(), "error() of a Result that holds a value");
    return std::get<1>(state_);
  }
  Result WithContext(std::string_view what) && {
    if (ok()) return std::move(*this);
    return error().WithContext(what);
  }

 private:
  T& Checked() {
    MT_CHECK(ok(), "value() of a Result that holds an error");
    return std::get<0>(state_);
  }
  std::variant<T, Error> state_;
};

// A step that yields nothing: Result<Done>, `return Done{};`.
struct Done {};

}  // namespace memtrace

#define MT_CONCAT_INNER(a, b) a##b
#define MT_CONCAT(a, b) MT_CONCAT_INNER(a, b)

// MT_ASSIGN_OR_RETURN(Type name, expression): declares `name`, or returns the error.
#define MT_ASSIGN_OR_RETURN(declaration, expression) \
  MT_ASSIGN_OR_RETURN_IMPL(MT_CONCAT(mt_result_, __LINE__), declaration, expression)
#define MT_ASSIGN_OR_RETURN_IMPL(result, declaration, expression) \
  auto result = (expression);                                     \
  if (!result.ok()) return result.error();                        \
  declaration = std::move(result).value()

#define MT_RETURN_IF_ERROR(expression)                                        \
  do {                                                                        \
    if (auto mt_result = (expression); !mt_result.ok()) return mt_result.error(); \
  } while (false)
