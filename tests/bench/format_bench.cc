// What a line of printf costs the reader: filling the format, and decoding the record before it.
// Text goes to one buffer that is emptied when a block is full, as the sinks do.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "runtime/events/decode.h"
#include "runtime/output/sink.h"
#include "tests/unit/plan_fixture.h"

namespace memtrace {
namespace {

constexpr size_t kBlock = 64 << 10;

plan::FormatPiece Literal(std::string text) {
  plan::FormatPiece piece;
  piece.text = std::move(text);
  return piece;
}
plan::FormatPiece Argument(plan::Index index, char conversion, int width = -1, bool left = false) {
  plan::FormatPiece piece;
  piece.argument = index;
  piece.conversion = conversion;
  piece.width = width;
  piece.left = left;
  return piece;
}

events::Value Number(uint64_t bits, plan::Unit unit = plan::Unit::kNone) {
  return {events::Integer{.bits = bits, .unit = unit, .name = {}}};
}

void Run(benchmark::State& state, const std::vector<plan::FormatPiece>& pieces,
         const std::vector<events::Value>& values) {
  plan::Action action;
  action.pieces = pieces;
  symbols::Symbolizer symbolizer;
  std::string out;
  out.reserve(2 * kBlock);
  for (auto _ : state) {
    output::FormatInto(out, action, values, symbolizer);
    if (out.size() >= kBlock) out.clear();
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations());
}

// printf("%d %s\n", pid, comm)
void TwoFields(benchmark::State& state) {
  Run(state, {Argument(0, 'd'), Literal(" "), Argument(1, 's'), Literal("\n")},
      {Number(4711), {std::string("kworker/1:0")}});
}
BENCHMARK(TwoFields);

// printf("%-16s %8d %12s\n", comm, pid, size)
void Columns(benchmark::State& state) {
  Run(state,
      {Argument(0, 's', 16, true), Literal(" "), Argument(1, 'd', 8), Literal(" "),
       Argument(2, 's', 12), Literal("\n")},
      {{std::string("kworker/1:0")}, Number(4711), Number(13'002'342, plan::Unit::kBytes)});
}
BENCHMARK(Columns);

// The same two fields from the bytes of a record on.
void DecodeAndFormat(benchmark::State& state) {
  plan::Plan plan;
  plan::Action action;
  action.pieces = {Argument(0, 'd'), Literal(" "), Argument(1, 's'), Literal("\n")};
  action.arguments = {test::FieldAt(test::AddType(plan, plan::TypeKind::kInt, 8), 8),
                      test::FieldAt(test::AddType(plan, plan::TypeKind::kString, 16), 16)};
  std::string record = test::Pack(0u, 32u, uint64_t{4711}) + test::PackText("kworker/1:0", 16);
  test::FakeResolver resolver;
  symbols::Symbolizer symbolizer;
  std::vector<events::Value> values;
  std::string out;
  out.reserve(2 * kBlock);
  for (auto _ : state) {
    values.clear();
    for (const plan::Field& field : action.arguments) {
      events::Bytes bytes = std::as_bytes(std::span(record)).subspan(field.offset);
      values.push_back(events::Decode(plan, field.type, bytes, resolver));
    }
    output::FormatInto(out, action, values, symbolizer);
    if (out.size() >= kBlock) out.clear();
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(DecodeAndFormat);

// A keyed map from raw entries to rows: @[comm, pid] = count(), one part per CPU.
void DecodeMap(benchmark::State& state) {
  plan::Plan plan;
  plan::Map map;
  map.name = "@";
  map.storage = plan::Storage::kPerCpuHash;
  map.value = plan::ValueKind::kCount;
  map.key = {test::FieldAt(test::AddType(plan, plan::TypeKind::kString, 16), 0),
             test::FieldAt(test::AddType(plan, plan::TypeKind::kInt, 8), 16)};
  std::vector<events::RawEntry> entries;
  for (int64_t i = 0; i < state.range(0); ++i) {
    entries.push_back({test::PackText("kworker/1:0", 16) + test::Pack(i),
                       test::Pack(uint64_t(i * 7919 % 1000), uint64_t{3})});
  }
  test::FakeResolver resolver;
  for (auto _ : state) {
    benchmark::DoNotOptimize(events::DecodeMap(plan, map, entries, 8, state.range(1), 0, resolver));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(DecodeMap)->Args({4096, 0})->Args({1'000'000, 0})->Args({1'000'000, 10});

}  // namespace
}  // namespace memtrace
