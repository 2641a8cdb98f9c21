// Functions from values to values: strings, symbols, pointers, time.
#include <fmt/format.h>

#include "compiler/builtins/rows/rows.h"

namespace memtrace::sema {

using diag::Code;
using types::Kind;
using types::Space;

namespace {

struct ClockName {
  std::string_view name;
  Clock clock;
};
constexpr ClockName kClocks[] = {
    {"boot", Clock::kBoot}, {"monotonic", Clock::kMonotonic}, {"tai", Clock::kTai}};

Expr* CheckNsecs(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 0, 1)) return checker.ErrorExpr(call.span);
  Call* node = checker.NewCall(row, call, checker.types().Uint64());
  auto arguments = Checker::Positional(call);
  if (arguments.empty()) return node;
  std::string_view name;
  if (arguments[0]->kind == syntax::ExprKind::kName) {
    name = static_cast<const syntax::Name*>(arguments[0])->name;
  }
  for (const ClockName& clock : kClocks) {
    if (clock.name != name) continue;
    node->number = static_cast<int64_t>(clock.clock);
    return node;
  }
  checker.Error(Code::kUnknownClock, arguments[0]->span, "nsecs() knows no such clock")
      .Note("there are boot, monotonic, tai");
  return checker.ErrorExpr(call.span);
}

// What str() reads from: a pointer, or the address of an array of bytes.
Expr* StringSource(Checker& checker, Expr* value) {
  if (value->type.IsPointer()) return value;
  // A probe on a program sees its addresses as numbers.
  bool is_address = value->type.Is(Kind::kInt) && value->type->size == 8 &&
                    checker.AddressSpace() == Space::kUser;
  if (is_address) {
    return checker.Convert(value, checker.types().Pointer(checker.types().Void(), Space::kUser));
  }
  bool is_bytes = value->type.Is(Kind::kArray) && value->type->target->size == 1;
  if (!is_bytes) return nullptr;
  auto* node = checker.New<AddressOf>(
      ExprKind::kAddressOf, value->span,
      checker.types().Pointer(value->type->target, Checker::SpaceOf(*value)));
  node->place = value;
  return node;
}

Expr* CheckStr(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 1, 2)) return checker.ErrorExpr(call.span);
  auto arguments = Checker::Positional(call);
  Expr* value = checker.CheckValue(*arguments[0]);
  Expr* length =
      arguments.size() == 2 ? checker.CheckInteger(*arguments[1], "the length of str()") : nullptr;
  if (value->type.IsError() || (length != nullptr && length->type.IsError())) {
    return checker.ErrorExpr(call.span);
  }
  uint32_t size = checker.config().max_strlen;
  if (length != nullptr && length->kind == ExprKind::kConstant) {
    uint64_t bytes = static_cast<Constant*>(length)->bits;
    if (bytes == 0 || bytes >= size) {
      checker
          .Error(Code::kOutOfRange, arguments[1]->span,
                 fmt::format("the length of str() is from 1 to {}", size - 1))
          .Note("config = { max_strlen = … } makes room for longer strings");
      return checker.ErrorExpr(call.span);
    }
    size = static_cast<uint32_t>(bytes) + 1;
  }
  // $1 and fields of char arrays are strings already.
  if (value->type.Is(Kind::kString)) {
    if (length == nullptr || value->type->size <= size) return value;
    return checker.Convert(value, checker.types().String(size));
  }
  // $1 that looks like a number, or was not given.
  if (arguments[0]->kind == syntax::ExprKind::kPositional && value->kind == ExprKind::kConstant) {
    auto* node = checker.New<String>(ExprKind::kString, call.span, checker.types().Error());
    if (checker.IsGiven(static_cast<const syntax::Positional&>(*arguments[0]))) {
      node->value = std::to_string(static_cast<int64_t>(static_cast<Constant*>(value)->bits));
    }
    node->type = checker.types().String(static_cast<uint32_t>(node->value.size() + 1));
    return node;
  }
  Expr* source = StringSource(checker, value);
  if (source == nullptr) {
    auto builder =
        checker.Error(Code::kNotPointer, arguments[0]->span,
                      fmt::format("str() reads through a pointer, this is {}", value->type.Name()));
    if (value->type.IsInteger()) {
      builder.Note("uptr(x) makes it one to the process's memory, kptr(x) to the kernel's");
    }
    return checker.ErrorExpr(call.span);
  }
  Call* node = checker.NewCall(row, call, checker.types().String(size));
  node->arguments.push_back(source);
  if (length != nullptr && length->kind != ExprKind::kConstant) {
    node->arguments.push_back(checker.Convert(length, checker.types().Uint64()));
  }
  return node;
}

// A string argument, or null after an error.
Expr* CheckStringArgument(Checker& checker, const Row& row, const syntax::Expr& expr) {
  Expr* value = checker.CheckValue(expr);
  if (value->type.IsError()) return nullptr;
  if (value->type.Is(Kind::kString)) return value;
  auto builder = checker.Error(
      Code::kExpectedString, expr.span,
      fmt::format("{}() takes a string, this is {}", Spelling(row.function), value->type.Name()));
  if (value->type.IsPointer()) builder.Note("str(pointer) reads one");
  return nullptr;
}

Expr* CheckStrlen(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 1, 1)) return checker.ErrorExpr(call.span);
  Expr* string = CheckStringArgument(checker, row, *Checker::Positional(call)[0]);
  if (string == nullptr) return checker.ErrorExpr(call.span);
  Call* node = checker.NewCall(row, call, checker.types().Int64());
  node->arguments.push_back(string);
  return node;
}

Expr* CheckStrncmp(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 3, 3)) return checker.ErrorExpr(call.span);
  auto arguments = Checker::Positional(call);
  Expr* left = CheckStringArgument(checker, row, *arguments[0]);
  Expr* right = CheckStringArgument(checker, row, *arguments[1]);
  int64_t count = 0;
  bool known = checker.CheckConstant(*arguments[2], "the length of strncmp()", 1,
                                     checker.config().max_strlen, count);
  if (left == nullptr || right == nullptr || !known) return checker.ErrorExpr(call.span);
  Call* node = checker.NewCall(row, call, checker.types().Int64());
  node->arguments = {left, right};
  node->number = count;
  return node;
}

Expr* CheckStrcontains(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 2, 2)) return checker.ErrorExpr(call.span);
  auto arguments = Checker::Positional(call);
  Expr* text = CheckStringArgument(checker, row, *arguments[0]);
  Expr* part = CheckStringArgument(checker, row, *arguments[1]);
  if (text == nullptr || part == nullptr) return checker.ErrorExpr(call.span);
  Call* node = checker.NewCall(row, call, checker.types().Bool());
  node->arguments = {text, part};
  return node;
}

// An address: a pointer or a number. Null after an error.
Expr* CheckAddress(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 1, 1)) return nullptr;
  const syntax::Expr& expr = *Checker::Positional(call)[0];
  Expr* value = checker.CheckValue(expr);
  if (value->type.IsError()) return nullptr;
  if (value->type.IsPointer()) return value;
  if (Expr* integer = checker.AsInteger(value)) return integer;
  checker.Error(
      Code::kNotPointer, expr.span,
      fmt::format("{}() takes an address, this is {}", Spelling(row.function), value->type.Name()));
  return nullptr;
}

Expr* CheckSymbol(Checker& checker, const Row& row, const CallSyntax& call, types::Type type) {
  Expr* address = CheckAddress(checker, row, call);
  if (address == nullptr) return checker.ErrorExpr(call.span);
  Call* node = checker.NewCall(row, call, type);
  node->arguments.push_back(checker.Convert(address, checker.types().Uint64()));
  return node;
}

Expr* CheckKsym(Checker& checker, const Row& row, const CallSyntax& call) {
  return CheckSymbol(checker, row, call, checker.types().KernelSymbol());
}

Expr* CheckUsym(Checker& checker, const Row& row, const CallSyntax& call) {
  return CheckSymbol(checker, row, call, checker.types().UserSymbol());
}

Expr* CheckIsErr(Checker& checker, const Row& row, const CallSyntax& call) {
  return CheckSymbol(checker, row, call, checker.types().Bool());
}

Expr* CheckFindVma(Checker& checker, const Row& row, const CallSyntax& call) {
  types::Type vma = checker.types().Void();
  if (auto btf = checker.kernel().LoadBtf(); btf.ok()) {
    if (types::Type known = btf.value()->TypeNamed("struct vm_area_struct")) vma = known;
  } else {
    checker.Error(Code::kNoBtf, call.span, "find_vma() needs BTF, which this kernel lacks")
        .Note(btf.error().message());
  }
  return CheckSymbol(checker, row, call, checker.types().Pointer(vma, Space::kKernel));
}

Expr* CheckPointerTo(Checker& checker, const Row& row, const CallSyntax& call, Space space) {
  Expr* address = CheckAddress(checker, row, call);
  if (address == nullptr) return checker.ErrorExpr(call.span);
  types::Type target = address->type.IsPointer() ? address->type->target : checker.types().Void();
  return checker.Convert(address, checker.types().Pointer(target, space));
}

Expr* CheckKptr(Checker& checker, const Row& row, const CallSyntax& call) {
  return CheckPointerTo(checker, row, call, Space::kKernel);
}

Expr* CheckUptr(Checker& checker, const Row& row, const CallSyntax& call) {
  return CheckPointerTo(checker, row, call, Space::kUser);
}

Expr* CheckStrftime(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 2, 2)) return checker.ErrorExpr(call.span);
  auto arguments = Checker::Positional(call);
  const std::string* format = checker.CheckLiteral(*arguments[0], "the format of strftime()");
  Expr* time = checker.CheckInteger(*arguments[1], "the time of strftime()");
  if (format == nullptr || time->type.IsError()) return checker.ErrorExpr(call.span);
  Call* node = checker.NewCall(row, call, checker.types().Timestamp(*format));
  node->arguments.push_back(checker.Convert(time, checker.types().Uint64()));
  return node;
}

}  // namespace

constinit const Row kNsecsRow = {
    Function::kNsecs,
    RowKind::kBuiltinOrFunction,
    "uint64 nsecs[(clock)]",
    "Nanoseconds of a clock: boot (also while suspended), monotonic or tai. A plain number: "
    "`(nsecs - @start) as ns` prints as a duration.",
    "tracepoint:kmem:mm_page_alloc { @last[comm] = nsecs; }",
    CheckNsecs};
constinit const Row kStrftimeRow = {
    Function::kStrftime,
    RowKind::kFunction,
    "timestamp strftime(string format, int ns)",
    "A time since boot as wall-clock time, printed through strftime(3)'s format; %f is "
    "microseconds.",
    "tracepoint:oom:mark_victim { printf(\"%s\\n\", strftime(\"%H:%M:%S\", nsecs)); }",
    CheckStrftime};
constinit const Row kStrRow = {
    Function::kStr,
    RowKind::kFunction,
    "string str(pointer p[, int length])",
    "The string that p points to, in the kernel's or the process's memory by p's type; at most "
    "`length` "
    "bytes (max_strlen - 1). Empty when it can't be read, which is counted.",
    "tracepoint:syscalls:sys_enter_openat { printf(\"%s\\n\", str(args.filename)); }",
    CheckStr};
constinit const Row kStrlenRow = {Function::kStrlen,
                                  RowKind::kFunction,
                                  "int64 strlen(string s)",
                                  "Bytes of s before its end.",
                                  "tracepoint:kmem:mm_page_alloc { @ = hist(strlen(comm)); }",
                                  CheckStrlen};
constinit const Row kStrncmpRow = {
    Function::kStrncmp,
    RowKind::kFunction,
    "int64 strncmp(string a, string b, int length)",
    "0 when the first `length` bytes of a and b are the same, 1 or another number else.",
    "tracepoint:kmem:mm_page_alloc /strncmp(comm, \"python\", 6) == 0/ { @ = count(); }",
    CheckStrncmp};
constinit const Row kStrcontainsRow = {
    Function::kStrcontains,
    RowKind::kFunction,
    "bool strcontains(string text, string part)",
    "Whether `part` is in `text`.",
    "tracepoint:kmem:mm_page_alloc /strcontains(comm, \"java\")/ { @ = count(); }",
    CheckStrcontains};
constinit const Row kKsymRow = {Function::kKsym,
                                RowKind::kFunction,
                                "ksym ksym(address)",
                                "Symbol of an address of the kernel.",
                                "tracepoint:kmem:kmalloc { @[ksym(args.call_site)] = count(); }",
                                CheckKsym};
constinit const Row kUsymRow = {
    Function::kUsym,
    RowKind::kFunction,
    "usym usym(address)",
    "Symbol of an address of the current process.",
    "tracepoint:exceptions:page_fault_user { @[usym(args.ip)] = count(); }",
    CheckUsym};
constinit const Row kKptrRow = {Function::kKptr,
                                RowKind::kFunction,
                                "pointer kptr(address)",
                                "The address as a pointer to the kernel's memory.",
                                "tracepoint:kmem:kmalloc { @ = max(*(uint64 *)kptr(args.ptr)); }",
                                CheckKptr};
constinit const Row kUptrRow = {
    Function::kUptr,
    RowKind::kFunction,
    "pointer uptr(address)",
    "The address as a pointer to the current process's memory.",
    "tracepoint:syscalls:sys_enter_write { printf(\"%s\\n\", str(uptr(args.buf), 16)); }",
    CheckUptr};

constinit const Row kIsErrRow = {
    Function::kIsErr,
    RowKind::kFunction,
    "bool is_err(pointer)",
    "Whether a pointer is one of the kernel's error codes (-4095 to -1) instead of an address.",
    "tracepoint:exceptions:page_fault_user /is_err(find_vma(args.address))/ { @busy = count(); }",
    CheckIsErr};
constinit const Row kFindVmaRow = {
    Function::kFindVma,
    RowKind::kFunction,
    "struct vm_area_struct *find_vma(address)",
    "The mapping of the current process that holds an address; fields by BTF. Null where nothing "
    "is mapped, an error (is_err()) where a thread is changing the mappings at that moment.",
    "tracepoint:exceptions:page_fault_user { @[find_vma(args.address).vm_flags] = count(); }",
    CheckFindVma};

}  // namespace memtrace::sema
