// Names without sigil, numbered arguments, and $variables.
#include <fmt/format.h>

#include "compiler/sema/checker.h"

namespace memtrace::sema {

using diag::Code;
using types::Kind;

namespace {

// Names of the language that this version does not have, and C's and other tracers' names for what
// it does have.
struct OtherName {
  std::string_view name;
  std::string_view note;
};
constexpr OtherName kOtherNames[] = {
    {"probetype", "the probe's name is `probe`"},
    {"NULL", "the null pointer is 0"},
    {"nullptr", "the null pointer is 0"},
    {"execname", "the name of the thread is `comm`"},
    {"curpsinfo", "the current task is `curtask`"},
    {"timestamp", "the time in nanoseconds is `nsecs`"},
    {"walltimestamp", "the time in nanoseconds is `nsecs`"},
    {"arg", "arguments are args.NAME, or arg0 to argN of a raw tracepoint or function"},
};

}  // namespace

Expr* Checker::CheckName(const syntax::Name& name) {
  if (name.name == kArgs) {
    Error(Code::kArgsAlone, name.span, "`args` is no value of its own")
        .Note("its fields are: args.NAME");
    return ErrorExpr(name.span);
  }
  if (int number = NumberedArgument(name.name); number >= 0) {
    return CheckNumberedArgument(name.span, static_cast<uint32_t>(number));
  }
  if (const Row* row = FindRow(name.name)) {
    if (row->kind == RowKind::kBuiltin || row->kind == RowKind::kBuiltinOrFunction) {
      return row->check(*this, *row,
                        {.span = name.span, .name_span = name.span, .arguments = nullptr});
    }
    Error(Code::kMissingCall, name.span, fmt::format("{} is a function", name.name))
        .Note(fmt::format("written as {}", row->signature));
    return ErrorExpr(name.span);
  }
  if (auto btf = kernel_.LoadBtf(); btf.ok()) {
    if (const auto* found = btf.value()->FindEnumerator(name.name)) {
      return ConstantOf(name.span, found->type, static_cast<uint64_t>(found->value));
    }
  }
  ReportUnknownName(name);
  return ErrorExpr(name.span);
}

void Checker::ReportUnknownName(const syntax::Name& name) {
  auto builder = Error(Code::kUnknownName, name.span, fmt::format("unknown name `{}`", name.name));
  for (const OtherName& other : kOtherNames) {
    if (other.name != name.name) continue;
    builder.Note(std::string(other.note));
    return;
  }
  if (FindLocal("$" + name.name) != nullptr) {
    builder.Hint(fmt::format("did you mean `${}`?", name.name));
    return;
  }
  std::vector<std::string_view> names = {kArgs};
  for (const Row& row : Rows()) {
    if (row.kind != RowKind::kFunction && row.kind != RowKind::kAggregation) {
      names.push_back(Spelling(row.function));
    }
  }
  std::string_view closest = diag::ClosestName(name.name, names);
  if (!closest.empty()) {
    builder.Hint(fmt::format("did you mean `{}`?", closest));
  } else if (auto btf = kernel_.LoadBtf(); !btf.ok()) {
    builder.Note("constants of the kernel are not known: " + btf.error().message());
  }
}

Expr* Checker::CheckNumberedArgument(Span span, uint32_t number) {
  if (unknown_probes_) return ErrorExpr(span);
  constexpr uint32_t kMostArguments = 32;  // more than any function of the kernel has
  if (!group_->unknown_arguments.empty() && !group_->result && number < kMostArguments) {
    return FieldOf(span, probes::UntypedArgument(number, group_->is_user, types()));
  }
  if (group_->result && !group_->has_numbered_arguments) {
    Error(Code::kNoArguments, span,
          fmt::format("arg{} is not known where a function returns", number))
        .Note("what it returns is retval");
    return ErrorExpr(span);
  }
  if (!group_->has_numbered_arguments) {
    auto builder =
        Error(Code::kNoArguments, span,
              fmt::format("arg{} is only known in rawtracepoint probes and at functions", number));
    if (!group_->targets.empty() && !group_->targets[0].category.empty()) {
      builder.Note("the fields of this probe are args.NAME");
    }
    return ErrorExpr(span);
  }
  if (number >= group_->fields.size()) {
    Error(Code::kNoArguments, span,
          fmt::format("{} has {} argument{}", group_->targets[0].name, group_->fields.size(),
                      group_->fields.size() == 1 ? "" : "s"))
        .Note("they are counted from arg0 on");
    return ErrorExpr(span);
  }
  return FieldOf(span, group_->fields[number]);
}

Expr* Checker::CheckResult(Span span) {
  if (unknown_probes_) return ErrorExpr(span);
  if (group_->result) return FieldOf(span, *group_->result);
  if (!group_->targets.empty() && probes::IsExit(group_->targets[0].provider)) {
    Error(Code::kNoArguments, span, fmt::format("{} returns nothing", group_->targets[0].function));
    return ErrorExpr(span);
  }
  Error(Code::kNoArguments, span, "retval is only known where a function returns")
      .Note(
          "that is kretprobe, fexit and uretprobe; a system call's is args.ret of "
          "tracepoint:syscalls:sys_exit_NAME");
  return ErrorExpr(span);
}

// ---- Variables ---------------------------------------------------------------------------------

Checker::Local* Checker::FindLocal(std::string_view name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (auto found = scope->find(name); found != scope->end()) return &found->second;
  }
  return nullptr;
}

Checker::Local& Checker::Declare(const std::string& name, const void* node, bool in_block) {
  Inferred& inferred = inferred_[{program_number_, node}];
  Id id = static_cast<Id>(program_->variables.size());
  program_->variables.push_back(
      {.name = name, .type = inferred.type ? inferred.type : types().Error()});
  auto& scope = in_block ? scopes_.back() : scopes_.front();
  return scope.insert_or_assign(name, Local{.id = id, .inferred = &inferred, .is_set = false})
      .first->second;
}

bool Checker::StoreInVariable(Local& local, const std::string& name, const Expr& value) {
  local.is_set = true;
  switch (Merge(*local.inferred, value.type, IsLiteral(value), value.span, types())) {
    case MergeResult::kChanged:
      changed_ = true;
      break;
    case MergeResult::kSame:
      break;
    case MergeResult::kClash:
      Error(Code::kTypeClash, value.span,
            fmt::format("{} holds {}, this is {}", name, local.inferred->type.Name(),
                        value.type.Name()))
          .Label(local.inferred->first,
                 fmt::format("first used here as {}", local.inferred->type.Name()));
      return false;
  }
  if (local.inferred->type) program_->variables[local.id].type = local.inferred->type;
  return true;
}

Id Checker::VariableFor(const syntax::Variable& variable, Type type) {
  Local* local = FindLocal(variable.name);
  if (local == nullptr) local = &Declare(variable.name, &variable, false);
  Constant value;
  value.kind = ExprKind::kVariable;
  value.span = variable.span;
  value.type = type;
  StoreInVariable(*local, variable.name, value);
  return local->id;
}

Expr* Checker::CheckVariable(const syntax::Variable& variable) {
  Local* local = FindLocal(variable.name);
  if (local == nullptr || !local->is_set) {
    auto builder = Error(Code::kUnsetVariable, variable.span,
                         fmt::format("{} is used before it is set", variable.name));
    if (local == nullptr) {
      std::vector<std::string_view> names;
      for (const auto& scope : scopes_) {
        for (const auto& [name, unused] : scope) names.push_back(name);
      }
      std::string_view closest = diag::ClosestName(variable.name, names);
      if (!closest.empty()) builder.Hint(fmt::format("did you mean `{}`?", closest));
    }
    return ErrorExpr(variable.span);
  }
  if (!local->inferred->type) return ErrorExpr(variable.span);
  auto* node = New<Variable>(ExprKind::kVariable, variable.span, local->inferred->type);
  node->variable = local->id;
  return node;
}

}  // namespace memtrace::sema
