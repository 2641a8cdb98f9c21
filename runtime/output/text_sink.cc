#include "runtime/output/block_writer.h"
#include "runtime/output/sink.h"
#include "runtime/output/value_text.h"

namespace memtrace::output {
namespace {

class TextSink : public Sink {
 public:
  TextSink(const SinkOptions& options, symbols::Symbolizer& symbolizer)
      : writer_(options.fd), raw_numbers_(options.raw_numbers), symbolizer_(symbolizer) {}

  void Text(std::string_view text) override {
    writer_.buffer() += text;
    writer_.Commit();
  }

  void Print(const events::Value& value) override {
    Append(value, 8);
    writer_.buffer() += '\n';
    writer_.Commit();
  }

  void Print(const events::MapTable& table) override {
    for (const events::MapRow& row : table.rows) {
      if (writer_.failed()) return;
      PrintRow(table, row);
    }
  }

  void Flush() override { writer_.Flush(); }
  bool failed() const override { return writer_.failed(); }
  std::string failure() const override { return writer_.failure(); }
  void Attached(size_t) override {}
  void Lost(std::string_view, std::string_view, uint64_t) override {}

 private:
  void Append(const events::Value& value, int stack_indent) {
    TextStyle style{
        .raw_numbers = raw_numbers_, .stack_indent = stack_indent, .escape = Escape::kAll};
    AppendText(writer_.buffer(), value, style, symbolizer_);
  }

  void PrintRow(const events::MapTable& table, const events::MapRow& row) {
    std::string& out = writer_.buffer();
    out += table.name;
    if (table.has_keys) {
      out += '[';
      for (size_t i = 0; i < row.key.size(); ++i) {
        if (i != 0) out += ", ";
        Append(row.key[i], 4);
      }
      out += ']';
    }
    out += ':';
    // These begin with a new line, and an empty line parts them from what follows.
    bool is_block = std::holds_alternative<events::Histogram>(row.value.data) ||
                    std::holds_alternative<events::Stack>(row.value.data);
    if (!is_block) out += ' ';
    Append(row.value, 4);
    out += '\n';
    writer_.Commit();
  }

  BlockWriter writer_;
  bool raw_numbers_;
  symbols::Symbolizer& symbolizer_;
};

}  // namespace

std::unique_ptr<Sink> NewTextSink(const SinkOptions& options, symbols::Symbolizer& symbolizer) {
  return std::make_unique<TextSink>(options, symbolizer);
}

}  // namespace memtrace::output
