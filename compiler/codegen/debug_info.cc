#include "compiler/codegen/debug_info.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>

namespace memtrace::codegen {

using llvm::DINode;
using llvm::DISubprogram;
using llvm::Metadata;

DebugInfo::DebugInfo(llvm::Module& module, const diag::SourceMap& sources)
    : sources_(sources), builder_(module) {
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
  unit_ = builder_.createCompileUnit(llvm::dwarf::DW_LANG_C99, builder_.createFile("script", ""),
                                     "memtrace", /*isOptimized=*/true, "", 0);
  int_ = builder_.createBasicType("int", 32, llvm::dwarf::DW_ATE_signed);
  long_ = builder_.createBasicType("long", 64, llvm::dwarf::DW_ATE_signed);
  byte_ = builder_.createBasicType("char", 8, llvm::dwarf::DW_ATE_unsigned_char);
  pointer_ = builder_.createPointerType(nullptr, 64);
}

llvm::DIFile* DebugInfo::File(std::string_view name) {
  auto found = files_.find(name);
  if (found != files_.end()) return found->second;
  // With an empty source LLVM does not look for a file of that name; the lines of a script reach
  // the user through the SourceMap, so the object need not carry them.
  llvm::DIFile* file =
      builder_.createFile(llvm::StringRef(name), "", std::nullopt, llvm::StringRef(""));
  files_.emplace(name, file);
  return file;
}

DISubprogram* DebugInfo::AddFunction(llvm::Function& function, diag::Span span, bool is_entry) {
  diag::Position position = sources_.PositionOf(span.begin);
  llvm::DIFile* file = File(position.file);
  llvm::SmallVector<Metadata*, 5> types = {is_entry ? int_ : long_};
  for (const llvm::Argument& argument : function.args()) {
    types.push_back(argument.getType()->isPointerTy() ? pointer_ : long_);
  }
  auto flags = DISubprogram::SPFlagDefinition | DISubprogram::SPFlagOptimized;
  if (!is_entry) flags |= DISubprogram::SPFlagLocalToUnit;
  DISubprogram* subprogram =
      builder_.createFunction(file, function.getName(), "", file, position.line,
                              builder_.createSubroutineType(builder_.getOrCreateTypeArray(types)),
                              position.line, DINode::FlagPrototyped, flags);
  // The kernel refuses the BTF of a function whose parameters have no names.
  for (const llvm::Argument& argument : function.args()) {
    unsigned number = argument.getArgNo() + 1;
    builder_.createParameterVariable(subprogram, "a" + std::to_string(number), number, file,
                                     position.line, llvm::cast<llvm::DIType>(types[number]),
                                     /*AlwaysPreserve=*/true);
  }
  function.setSubprogram(subprogram);
  return subprogram;
}

llvm::DebugLoc DebugInfo::Location(diag::Span span, DISubprogram* function) {
  diag::Position position = sources_.PositionOf(span.begin);
  return llvm::DILocation::get(function->getContext(), position.line, position.column, function);
}

llvm::DIType* DebugInfo::NumberPointer(uint32_t number) {
  Metadata* range = builder_.getOrCreateSubrange(0, number);
  llvm::DIType* array =
      builder_.createArrayType(uint64_t{number} * 32, 32, int_, builder_.getOrCreateArray({range}));
  return builder_.createPointerType(array, 64);
}

void DebugInfo::AddMap(llvm::GlobalVariable& map,
                       const std::vector<std::pair<std::string_view, uint32_t>>& attributes) {
  llvm::DIFile* file = unit_->getFile();
  llvm::SmallVector<Metadata*, 6> members;
  for (size_t i = 0; i < attributes.size(); ++i) {
    members.push_back(builder_.createMemberType(unit_, llvm::StringRef(attributes[i].first), file,
                                                0, 64, 64, i * 64, DINode::FlagZero,
                                                NumberPointer(attributes[i].second)));
  }
  Attach(map,
         builder_.createStructType(unit_, "", file, 0, attributes.size() * 64, 64, DINode::FlagZero,
                                   nullptr, builder_.getOrCreateArray(members)));
}

void DebugInfo::AddBytes(llvm::GlobalVariable& variable, uint64_t size) {
  Metadata* range = builder_.getOrCreateSubrange(0, static_cast<int64_t>(size));
  Attach(variable,
         builder_.createArrayType(size * 8, 8, byte_, builder_.getOrCreateArray({range})));
}

void DebugInfo::Attach(llvm::GlobalVariable& variable, llvm::DIType* type) {
  variable.addDebugInfo(builder_.createGlobalVariableExpression(
      unit_, variable.getName(), "", unit_->getFile(), 0, type, variable.hasLocalLinkage()));
}

}  // namespace memtrace::codegen
