// NDJSON: every call is one object on a line of its own. docs/json.md is the schema.
#include <cstdint>
#include <span>

#include "runtime/output/block_writer.h"
#include "runtime/output/escape.h"
#include "runtime/output/number.h"
#include "runtime/output/sink.h"

namespace memtrace::output {
namespace {

std::string_view UnitName(plan::Unit unit) {
  switch (unit) {
    case plan::Unit::kNone:
      return "";
    case plan::Unit::kNanoseconds:
      return "ns";
    case plan::Unit::kBytes:
      return "bytes";
    case plan::Unit::kPages:
      return "pages";
  }
  return "";
}

class JsonWriter {
 public:
  JsonWriter(std::string& out, bool raw_numbers, symbols::Symbolizer& symbolizer)
      : out_(out), raw_numbers_(raw_numbers), symbolizer_(symbolizer) {}

  void Write(const events::Value& value) { std::visit(*this, value.data); }

  void operator()(std::monostate) { out_ += "null"; }
  void operator()(bool value) { out_ += value ? "true" : "false"; }
  void operator()(const events::Integer& integer) {
    if (integer.name.empty()) {
      Number(integer.bits, integer.is_signed, integer.unit);
      return;
    }
    out_ += "{\"value\":";
    AppendDecimal(out_, integer.bits, integer.is_signed);
    out_ += ",\"name\":";
    AppendJsonString(out_, integer.name);
    out_ += '}';
  }
  void operator()(const std::string& text) { AppendJsonString(out_, text); }
  void operator()(const events::Pointer& pointer) { Address(pointer.address); }
  void operator()(const events::Symbol& symbol) {
    Frame(symbol.address, symbol.process, symbol.is_user);
  }
  void operator()(const events::Stack& stack) {
    out_ += '[';
    std::span<const uint64_t> frames = stack.frames;
    if (!stack.is_user) frames = symbolizer_.WithoutTracing(stack.frames);
    for (size_t i = 0; i < frames.size(); ++i) {
      if (i != 0) out_ += ',';
      Frame(frames[i], stack.process, stack.is_user);
    }
    if (stack.failed || stack.truncated) {
      if (!frames.empty()) out_ += ',';
      out_ += stack.failed ? R"({"error":"no stack"})" : R"({"error":"more frames"})";
    }
    out_ += ']';
  }
  void operator()(const events::Aggregate& aggregate) {
    using Shape = events::Aggregate::Shape;
    bool is_object = aggregate.shape == Shape::kStruct || aggregate.shape == Shape::kRecord;
    out_ += is_object ? '{' : '[';
    for (size_t i = 0; i < aggregate.members.size(); ++i) {
      const events::Member& member = aggregate.members[i];
      if (i != 0) out_ += ',';
      if (is_object) Name(member.name);
      Write(member.value[0]);
    }
    out_ += is_object ? '}' : ']';
  }
  void operator()(const events::Histogram& histogram) {
    out_ += '{';
    if (histogram.unit != plan::Unit::kNone) {
      Name("unit");
      AppendJsonString(out_, UnitName(histogram.unit));
      out_ += ',';
    }
    Name("buckets");
    out_ += '[';
    bool first = true;
    for (const events::Histogram::Bucket& bucket : histogram.buckets) {
      out_ += first ? "{\"low\":" : ",{\"low\":";
      first = false;
      Edge(bucket.low, INT64_MIN);
      out_ += ",\"high\":";
      Edge(bucket.high, INT64_MAX);
      out_ += ",\"count\":";
      AppendUnsigned(out_, bucket.count);
      out_ += '}';
    }
    out_ += "]}";
  }
  void operator()(const events::Stats& stats) {
    out_ += "{\"count\":";
    AppendUnsigned(out_, stats.count);
    auto number = [&](std::string_view name, uint64_t bits) {
      out_ += ',';
      Name(name);
      Number(bits, stats.is_signed, stats.unit);
    };
    number("average", stats.average);
    number("total", stats.total);
    number("min", stats.min);
    number("max", stats.max);
    out_ += '}';
  }

 private:
  void Name(std::string_view name) {
    AppendJsonString(out_, name);
    out_ += ':';
  }
  void Number(uint64_t bits, bool is_signed, plan::Unit unit) {
    if (unit == plan::Unit::kNone || raw_numbers_) {
      AppendDecimal(out_, bits, is_signed);
      return;
    }
    out_ += "{\"value\":";
    AppendDecimal(out_, bits, is_signed);
    out_ += ",\"unit\":\"";
    out_ += UnitName(unit);
    out_ += "\"}";
  }
  void Edge(int64_t edge, int64_t open) {
    if (edge == open) {
      out_ += "null";
    } else {
      AppendDecimal(out_, static_cast<uint64_t>(edge), true);
    }
  }
  void Address(uint64_t address) {
    out_ += '"';
    AppendHex(out_, address);
    out_ += '"';
  }
  void Frame(uint64_t address, uint32_t process, bool is_user) {
    symbols::Frame frame =
        is_user ? symbolizer_.User(process, address) : symbolizer_.Kernel(address);
    out_ += "{\"symbol\":";
    TextOrNull(frame.symbol);
    out_ += ",\"offset\":";
    AppendUnsigned(out_, frame.offset);
    out_ += ",\"module\":";
    TextOrNull(frame.module);
    out_ += ",\"address\":";
    Address(address);
    out_ += '}';
  }
  void TextOrNull(const std::string& text) {
    if (text.empty()) {
      out_ += "null";
    } else {
      AppendJsonString(out_, text);
    }
  }

  std::string& out_;
  bool raw_numbers_;
  symbols::Symbolizer& symbolizer_;
};

class JsonSink : public Sink {
 public:
  JsonSink(const SinkOptions& options, symbols::Symbolizer& symbolizer)
      : writer_(options.fd), values_(writer_.buffer(), options.raw_numbers, symbolizer) {}

  void Text(std::string_view text) override {
    Begin("printf");
    AppendJsonString(writer_.buffer(), text);
    End();
  }

  void Print(const events::Value& value) override {
    Begin("value");
    values_.Write(value);
    End();
  }

  void Print(const events::MapTable& table) override {
    if (writer_.failed()) return;
    std::string& out = writer_.buffer();
    Begin("map");
    out += '{';
    AppendJsonString(out, table.name);
    out += ':';
    if (!table.has_keys) {
      if (table.rows.empty()) {
        out += "null";
      } else {
        values_.Write(table.rows[0].value);
      }
    } else {
      out += '[';
      for (size_t i = 0; i < table.rows.size(); ++i) {
        if (i != 0) out += ',';
        PrintRow(table.rows[i]);
      }
      out += ']';
    }
    out += '}';
    End();
  }

  void Flush() override { writer_.Flush(); }
  bool failed() const override { return writer_.failed(); }
  std::string failure() const override { return writer_.failure(); }

  void Attached(size_t probes) override {
    Begin("attached_probes");
    writer_.buffer() += "{\"probes\":";
    AppendUnsigned(writer_.buffer(), probes);
    writer_.buffer() += '}';
    End();
  }

  void Lost(std::string_view cause, std::string_view subject, uint64_t count) override {
    std::string& out = writer_.buffer();
    out += R"({"type":"lost","cause":)";
    AppendJsonString(out, cause);
    out += ",\"subject\":";
    AppendJsonString(out, subject);
    out += ",\"count\":";
    AppendUnsigned(out, count);
    End();
  }

 private:
  void Begin(std::string_view type) {
    std::string& out = writer_.buffer();
    out += "{\"type\":\"";
    out += type;
    out += "\",\"data\":";
  }
  void End() {
    writer_.buffer() += "}\n";
    writer_.Commit();
  }
  void PrintRow(const events::MapRow& row) {
    std::string& out = writer_.buffer();
    out += "{\"key\":[";
    for (size_t i = 0; i < row.key.size(); ++i) {
      if (i != 0) out += ',';
      values_.Write(row.key[i]);
    }
    out += "],\"value\":";
    values_.Write(row.value);
    out += '}';
    writer_.Commit();
  }

  BlockWriter writer_;
  JsonWriter values_;
};

}  // namespace

std::unique_ptr<Sink> NewJsonSink(const SinkOptions& options, symbols::Symbolizer& symbolizer) {
  return std::make_unique<JsonSink>(options, symbolizer);
}

}  // namespace memtrace::output
