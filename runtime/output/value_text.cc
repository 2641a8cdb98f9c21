#include "runtime/output/value_text.h"

#include <span>

#include "runtime/output/number.h"

namespace memtrace::output {
namespace {

class ValueWriter {
 public:
  ValueWriter(std::string& out, const TextStyle& style, symbols::Symbolizer& symbolizer)
      : out_(out), style_(style), symbolizer_(symbolizer) {}

  void operator()(std::monostate) {}
  void operator()(bool value) { out_ += value ? "true" : "false"; }
  void operator()(const events::Integer& integer) {
    if (!integer.name.empty()) {
      out_ += integer.name;
    } else {
      AppendNumber(out_, integer.bits, integer.is_signed, integer.unit, style_.raw_numbers);
    }
  }
  void operator()(const std::string& text) { AppendEscaped(out_, text, style_.escape); }
  void operator()(const events::Pointer& pointer) { AppendHex(out_, pointer.address); }
  void operator()(const events::Symbol& symbol) {
    Append(symbol.is_user ? symbolizer_.User(symbol.process, symbol.address)
                          : symbolizer_.Kernel(symbol.address));
  }
  void operator()(const events::Stack& stack) {
    out_ += '\n';
    std::span<const uint64_t> frames = stack.frames;
    if (!stack.is_user) frames = symbolizer_.WithoutTracing(stack.frames);
    for (uint64_t address : frames) {
      Indent();
      Append(stack.is_user ? symbolizer_.User(stack.process, address)
                           : symbolizer_.Kernel(address));
      out_ += '\n';
    }
    if (stack.failed) Note("[no stack]");
    if (stack.truncated) Note("[more frames]");
  }
  void operator()(const events::Aggregate& aggregate) {
    using Shape = events::Aggregate::Shape;
    bool first = true;
    out_ += aggregate.shape == Shape::kStruct ? "{ " : aggregate.shape == Shape::kArray ? "[" : "(";
    for (const events::Member& member : aggregate.members) {
      if (!first) out_ += aggregate.shape == Shape::kArray ? "," : ", ";
      first = false;
      if (!member.name.empty() && aggregate.shape != Shape::kArray) {
        if (aggregate.shape == Shape::kStruct) out_ += '.';
        out_ += member.name;
        out_ += " = ";
      }
      std::visit(*this, member.value[0].data);
    }
    out_ += aggregate.shape == Shape::kStruct ? " }" : aggregate.shape == Shape::kArray ? "]" : ")";
  }
  void operator()(const events::Histogram& histogram) {
    out_ += '\n';
    AppendHistogram(out_, histogram, style_.raw_numbers);
  }
  void operator()(const events::Stats& stats) {
    out_ += "count ";
    AppendUnsigned(out_, stats.count);
    out_ += ", average ";
    AppendNumber(out_, stats.average, stats.is_signed, stats.unit, style_.raw_numbers);
    out_ += ", total ";
    AppendNumber(out_, stats.total, stats.is_signed, stats.unit, style_.raw_numbers);
  }

 private:
  void Indent() { out_.append(style_.stack_indent, ' '); }
  void Note(std::string_view note) {
    Indent();
    out_ += note;
    out_ += '\n';
  }
  void Append(const symbols::Frame& frame) {
    // A file's name is chosen by whoever made the file.
    AppendEscaped(out_, symbols::ToText(frame), Escape::kAll);
  }

  std::string& out_;
  const TextStyle& style_;
  symbols::Symbolizer& symbolizer_;
};

}  // namespace

void AppendText(std::string& out, const events::Value& value, const TextStyle& style,
                symbols::Symbolizer& symbolizer) {
  std::visit(ValueWriter(out, style, symbolizer), value.data);
}

}  // namespace memtrace::output
