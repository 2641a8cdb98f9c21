// Loading, attaching and reading back, with objects built from C (tests/kernel/bpf) in place of
// compiled scripts. Needs root and a kernel with BTF.

#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <thread>

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "compiler/kernel/btf.h"
#include "compiler/plan/plan.h"
#include "runtime/attach/attach.h"
#include "runtime/bpf/maps.h"
#include "runtime/bpf/object.h"
#include "runtime/bpf/ring.h"
#include "runtime/bpf/run.h"
#include "runtime/bpf/state.h"
#include "tests/support/time_factor.h"

namespace memtrace {
namespace {

using bpf::Copy;
using Clock = std::chrono::steady_clock;

// Layout of mt_state in bpf/runtime.bpf.c.
constexpr uint32_t kSlots = 64, kSlotSize = 16, kCopySize = kSlots * kSlotSize;
constexpr uint32_t kCounts = 64, kTruth = kCounts + 2 * kCopySize, kScalar = kTruth + kCopySize;

enum Program : plan::Index { kCountEvent, kFill, kEmit, kSetScalar, kTypedEvent, kSample };
enum MapIndex : plan::Index { kCount, kTruthCount, kScalarMap, kBig, kPerCpu, kKeys };

plan::Map StateMap(std::string name, plan::Storage storage, uint32_t offset, bool is_swapped) {
  plan::Map map;
  map.name = std::move(name);
  map.storage = storage;
  map.offset = offset;
  map.slot_size = kSlotSize;
  map.copy_size = kCopySize;
  map.value = plan::ValueKind::kCount;
  map.value_size = 8;
  map.is_swapped = is_swapped;
  return map;
}

plan::Map HashMap(std::string name, std::vector<std::string> symbols, uint32_t key_size,
                  uint32_t value_size, uint32_t max_entries) {
  plan::Map map;
  map.name = std::move(name);
  map.is_swapped = symbols.size() == 2;
  map.symbols = std::move(symbols);
  map.key_size = key_size;
  map.value_size = value_size;
  map.max_entries = max_entries;
  return map;
}

plan::Plan FixturePlan() {
  plan::Plan plan;
  plan.config.ring_size = 64 << 10;
  plan.cpu_slots = kSlots;
  plan.state_size = kScalar + kSlotSize;
  plan.window_offset = 0;
  plan.losses_offset = 8;
  plan.maps = {StateMap("@count", plan::Storage::kStatePerCpu, kCounts, true),
               StateMap("@truth", plan::Storage::kStatePerCpu, kTruth, false),
               StateMap("@scalar", plan::Storage::kState, kScalar, false),
               HashMap("@big", {"big"}, 8, 8, 16384),
               HashMap("@per_cpu", {"per_cpu"}, 4, 4, 128),
               HashMap("@keys", {"keys_0", "keys_1"}, 8, 8, 1024)};
  plan.maps[kPerCpu].storage = plan::Storage::kPerCpuHash;
  for (const char* name : {"count_event", "fill", "emit", "set_scalar", "typed_event", "sample"}) {
    plan.programs.emplace_back().symbol = name;
  }
  plan.programs[kSample].type = plan::ProgramType::kPerfEvent;
  plan.actions.emplace_back();
  plan.loss_sites.emplace_back();
  return plan;
}

std::string ReadObject(const std::string& name) {
  std::ifstream file(std::string(MT_BUILD_DIR) + "/kernel_bpf/" + name + ".o", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

plan::Probe RawProbe(std::string event, plan::Index program) {
  plan::Probe probe;
  probe.name = "rawtracepoint:" + event;
  probe.program = program;
  probe.kind = plan::AttachKind::kRawTracepoint;
  probe.event = std::move(event);
  return probe;
}

class RuntimeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    elf_ = ReadObject("runtime");
    if (elf_.empty()) GTEST_SKIP() << "needs clang-19 to build tests/kernel/bpf";
    plan_ = FixturePlan();
    std::string data = ReadFile("/sys/kernel/btf/vmlinux").value();
    btf_.emplace(kernel::Btf::Parse(std::move(data), types_).value());
    plan_.programs[kTypedEvent].type = plan::ProgramType::kTracing;
    plan_.programs[kTypedEvent].tracing_target = plan::TracingTarget::kTypedTracepoint;
    plan_.programs[kTypedEvent].attach_btf_id =
        btf_->FindId("btf_trace_sys_enter", kernel::BtfKind::kTypedef);
    Result<bpf::Loaded> loaded = bpf::Load(plan_, elf_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    loaded_.emplace(std::move(loaded).value());
    state_.emplace(bpf::State::Open(plan_, *loaded_).value());
    store_.emplace(plan_, *loaded_, *state_);
  }

  void Run(plan::Index program) {
    Result<Done> done = bpf::RunOnce(loaded_->program_fd(program));
    ASSERT_TRUE(done.ok()) << done.error().message();
  }

  // The sum of all 8-byte values of a map; a keyless one has its presence before each.
  uint64_t Total(plan::Index map, Copy copy = Copy::kCurrent) {
    Result<bpf::Snapshot> snapshot = store_->Read(map, copy);
    EXPECT_TRUE(snapshot.ok()) << snapshot.error().message();
    uint64_t total = 0;
    for (const events::RawEntry& entry : snapshot.value().entries) {
      bool has_presence = plan_.maps[map].key_size == 0;
      for (size_t at = has_presence ? 8 : 0; at < entry.value.size(); at += has_presence ? 16 : 8) {
        uint64_t word;
        std::memcpy(&word, entry.value.data() + at, 8);
        total += word;
      }
    }
    return total;
  }

  size_t Count(plan::Index map, Copy copy = Copy::kCurrent) {
    return store_->Read(map, copy).value().entries.size();
  }

  types::TypeTable types_;
  std::optional<kernel::Btf> btf_;
  std::string elf_;
  plan::Plan plan_;
  std::optional<bpf::Loaded> loaded_;
  std::optional<bpf::State> state_;
  std::optional<bpf::MapStore> store_;
};

TEST_F(RuntimeTest, KeylessMapsAreEmptyUntilWritten) {
  EXPECT_EQ(Count(kScalarMap), 0u);
  Run(kSetScalar);
  EXPECT_EQ(Total(kScalarMap), 42u);
  ASSERT_TRUE(store_->Zero(kScalarMap, Copy::kCurrent).ok());
  EXPECT_EQ(Count(kScalarMap), 1u);
  EXPECT_EQ(Total(kScalarMap), 0u);
  ASSERT_TRUE(store_->Clear(kScalarMap, Copy::kCurrent).ok());
  EXPECT_EQ(Count(kScalarMap), 0u);
}

TEST_F(RuntimeTest, StacksAreFoundByHash) {
  EXPECT_TRUE(store_->StackFrames(7).empty());
  Run(kSetScalar);
  EXPECT_EQ(store_->StackFrames(7), (std::vector<uint64_t>{0x1000, 0x2000}));
  EXPECT_TRUE(store_->StackFrames(8).empty());
}

TEST_F(RuntimeTest, ReadsTenThousandKeysClearsAndZeroes) {
  Run(kFill);
  bpf::Snapshot snapshot = store_->Read(kBig, Copy::kCurrent).value();
  ASSERT_EQ(snapshot.entries.size(), 10000u);
  EXPECT_EQ(snapshot.value_stride, 8u);
  std::set<uint64_t> keys;
  for (const events::RawEntry& entry : snapshot.entries) {
    uint64_t key, value;
    std::memcpy(&key, entry.key.data(), 8);
    std::memcpy(&value, entry.value.data(), 8);
    EXPECT_EQ(value, key * 3);
    keys.insert(key);
  }
  EXPECT_EQ(keys.size(), 10000u);

  ASSERT_TRUE(store_->Zero(kBig, Copy::kCurrent).ok());
  EXPECT_EQ(Count(kBig), 10000u);
  EXPECT_EQ(Total(kBig), 0u);
  ASSERT_TRUE(store_->Clear(kBig, Copy::kCurrent).ok());
  EXPECT_EQ(Count(kBig), 0u);
}

TEST_F(RuntimeTest, PerCpuValuesStandInARow) {
  Run(kFill);
  bpf::Snapshot snapshot = store_->Read(kPerCpu, Copy::kCurrent).value();
  ASSERT_EQ(snapshot.entries.size(), 100u);
  EXPECT_EQ(snapshot.value_stride, 8u);
  for (const events::RawEntry& entry : snapshot.entries) EXPECT_EQ(entry.value.size() % 8, 0u);
  EXPECT_EQ(Total(kPerCpu), 99u * 100 / 2);
  ASSERT_TRUE(store_->Zero(kPerCpu, Copy::kCurrent).ok());
  EXPECT_EQ(Count(kPerCpu), 100u);
  EXPECT_EQ(Total(kPerCpu), 0u);
}

TEST_F(RuntimeTest, ZeroedKeysStayInBothCopies) {
  auto insert = [&](const char* symbol, uint64_t key) {
    bpf::HashShape shape{
        .fd = loaded_->map_fd(symbol), .key_size = 8, .value_size = 8, .max_entries = 1024};
    uint64_t value = 5;
    ASSERT_TRUE(bpf::UpdateAll(shape, std::as_bytes(std::span(&key, 1)),
                               std::as_bytes(std::span(&value, 1)))
                    .ok());
  };
  insert("keys_0", 1);
  insert("keys_1", 2);
  ASSERT_TRUE(store_->Swap(std::vector<plan::Index>{kKeys}).ok());
  ASSERT_TRUE(store_->Zero(kKeys, Copy::kAside).ok());
  EXPECT_EQ(Total(kKeys, Copy::kAside), 0u);
  EXPECT_EQ(Count(kKeys, Copy::kCurrent), 2u);
  EXPECT_EQ(Total(kKeys, Copy::kCurrent), 5u);
}

TEST_F(RuntimeTest, RecordsComeInOrderWithoutTheDiscardedOnes) {
  bpf::Ring ring = std::move(bpf::Ring::Open(plan_, *loaded_)).value();
  EXPECT_TRUE(ring.Front().empty());
  // More rounds than the ring has room for, so that records wrap around.
  uint64_t expected = 0;
  for (int round = 0; round < 20; ++round) {
    Run(kEmit);
    uint64_t end = ring.produced();
    for (auto record = ring.Front(); !record.empty(); record = ring.Front()) {
      if (expected % 10 == 9) ++expected;
      uint64_t number;
      ASSERT_EQ(record.size(), 16u);
      std::memcpy(&number, record.data() + 8, 8);
      ASSERT_EQ(number, expected++);
      ring.Pop();
    }
    if (expected % 10 == 9) ++expected;
    EXPECT_EQ(ring.consumed(), end);
  }
  EXPECT_EQ(expected, 20000u);
  EXPECT_EQ(state_->Lost(0), 0u);
}

TEST_F(RuntimeTest, AFullRingIsCounted) {
  for (int round = 0; round < 4; ++round) Run(kEmit);
  bpf::Ring ring = std::move(bpf::Ring::Open(plan_, *loaded_)).value();
  uint64_t records = 0;
  for (; !ring.Front().empty(); ring.Pop()) ++records;
  EXPECT_GT(state_->Lost(0), 0u);
  // A tenth of what was reserved was discarded.
  EXPECT_EQ(records, 3600 - state_->Lost(0) + state_->Lost(0) / 10) << state_->Lost(0);
}

TEST_F(RuntimeTest, TypedProgramsAttachWithoutVmlinuxBtf) {
  plan::Probe probe = RawProbe("", kTypedEvent);
  probe.kind = plan::AttachKind::kTracing;
  plan_.probes = {probe};
  Result<attach::Attachments> attached = attach::Attach(plan_, *loaded_, {.online_cpus = {0}});
  ASSERT_TRUE(attached.ok()) << attached.error().message();
  for (int i = 0; i < 100; ++i) ::syscall(SYS_getpid);
  attached.value().Detach();
  EXPECT_GE(Total(kTruthCount), 100u);
}

TEST_F(RuntimeTest, ProfileSamplesEveryCpu) {
  plan::Probe probe = RawProbe("", kSample);
  probe.kind = plan::AttachKind::kProfile;
  probe.frequency = 999;
  plan_.probes = {probe};
  Result<attach::Attachments> attached = attach::Attach(plan_, *loaded_, {.online_cpus = {0, 1}});
  ASSERT_TRUE(attached.ok()) << attached.error().message();
  Clock::time_point end = Clock::now() + std::chrono::milliseconds(300);
  while (Clock::now() < end) {
  }
  attached.value().Detach();
  EXPECT_GT(Total(kScalarMap), 50u);
}

TEST_F(RuntimeTest, AnUnknownEventIsNamed) {
  plan_.probes = {RawProbe("no_such_event", kCountEvent)};
  Result<attach::Attachments> attached = attach::Attach(plan_, *loaded_, {.online_cpus = {0}});
  ASSERT_FALSE(attached.ok());
  EXPECT_EQ(attached.error().kind(), ErrorKind::kNotFound);
  EXPECT_EQ(attached.error().message(),
            "attach rawtracepoint:no_such_event: this kernel has no such raw tracepoint");
}

// Events of two busy threads while the copies are exchanged every 50 ms: what was read from the
// copies set aside, and the rest, add up to what was counted without exchange.
TEST_F(RuntimeTest, ExchangedCopiesAddUp) {
  plan_.probes = {RawProbe("sys_enter", kCountEvent)};
  Result<attach::Attachments> attached = attach::Attach(plan_, *loaded_, {.online_cpus = {0}});
  ASSERT_TRUE(attached.ok()) << attached.error().message();
  std::atomic<bool> stop = false;
  auto work = [&] {
    while (!stop) ::syscall(SYS_getppid);
  };
  std::thread first(work), second(work);

  uint64_t keyless = 0, keyed = 0;
  std::vector<plan::Index> maps = {kCount, kKeys};
  Clock::duration swapping{};
  int swaps = 0;
  for (Clock::time_point end = Clock::now() + std::chrono::seconds(4); Clock::now() < end;
       ++swaps) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    Clock::time_point begin = Clock::now();
    ASSERT_TRUE(store_->Swap(maps).ok());
    swapping += Clock::now() - begin;
    keyless += Total(kCount, Copy::kAside);
    keyed += Total(kKeys, Copy::kAside);
    ASSERT_TRUE(store_->Clear(kCount, Copy::kAside).ok());
    ASSERT_TRUE(store_->Clear(kKeys, Copy::kAside).ok());
  }
  stop = true;
  first.join();
  second.join();
  attached.value().Detach();
  // Swap() waits for programs that still run after detaching.
  ASSERT_TRUE(store_->Swap(maps).ok());
  keyless += Total(kCount, Copy::kAside);
  keyed += Total(kKeys, Copy::kAside);
  uint64_t truth = Total(kTruthCount);
  EXPECT_EQ(keyless, truth);
  EXPECT_EQ(keyed, truth);
  EXPECT_GT(truth, 100000u);
  RecordProperty("events", std::to_string(truth));
  std::printf("%llu events, %d exchanges of %lld us\n", static_cast<unsigned long long>(truth),
              swaps,
              static_cast<long long>(
                  std::chrono::duration_cast<std::chrono::microseconds>(swapping).count() / swaps));
}

TEST_F(RuntimeTest, DetachesThreeHundredRawTracepointsAtOnce) {
  plan_.probes.clear();
  for (const std::string& name : btf_->RawTracepoints()) {
    if (plan_.probes.size() < 300) plan_.probes.push_back(RawProbe(name, kSetScalar));
  }
  // Names in BTF of tracepoints that the kernel was built without: left out by trying.
  std::erase_if(plan_.probes, [&](const plan::Probe& probe) {
    plan::Plan one = plan_;
    one.probes = {probe};
    return !attach::Attach(one, *loaded_, {.online_cpus = {0}}).ok();
  });
  Clock::time_point begin = Clock::now();
  attach::Attachments attached =
      std::move(attach::Attach(plan_, *loaded_, {.online_cpus = {0}})).value();
  Clock::time_point middle = Clock::now();
  attached.Detach();
  auto detaching = Clock::now() - middle;
  EXPECT_GT(plan_.probes.size(), 200u);
  EXPECT_LT(detaching, std::chrono::seconds(1) * test::TimeFactor());
  std::printf("%zu raw tracepoints: attached in %lld us, detached in %lld us\n",
              plan_.probes.size(),
              static_cast<long long>((middle - begin) / std::chrono::microseconds(1)),
              static_cast<long long>(detaching / std::chrono::microseconds(1)));
}

TEST_F(RuntimeTest, CountersTellRunsAndTime) {
  UniqueFd statistics = std::move(bpf::EnableRunTimeStatistics()).value();
  Run(kSetScalar);
  Run(kFill);
  bpf::ProgramCounters counters = bpf::ReadCounters(loaded_->program_fd(kFill)).value();
  EXPECT_EQ(counters.missed, 0u);
}

TEST_F(RuntimeTest, LoadIsQuick) {
  Clock::time_point begin = Clock::now();
  Result<bpf::Loaded> loaded = bpf::Load(plan_, elf_);
  auto loading = Clock::now() - begin;
  ASSERT_TRUE(loaded.ok());
  // All of vmlinux BTF would take 50 ms.
  EXPECT_LT(loading, std::chrono::milliseconds(20) * test::TimeFactor());
  std::printf("loaded in %lld us\n",
              static_cast<long long>(loading / std::chrono::microseconds(1)));
}

TEST_F(RuntimeTest, ARefusedProgramIsShownWithItsLine) {
  plan::Plan plan;
  plan.programs.emplace_back().symbol = "unchecked";
  plan.programs[0].line = 17;
  plan.probes = {RawProbe("sys_enter", 0)};
  Result<bpf::Loaded> loaded = bpf::Load(plan, ReadObject("rejected"));
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().kind(), ErrorKind::kRejected);
  const std::string& message = loaded.error().message();
  // The log names the line since Linux 6.8, before that the program's line has to do.
  EXPECT_TRUE(
      message.starts_with("load rawtracepoint:sys_enter: the kernel's verifier refused line 1"))
      << message;
  EXPECT_NE(message.find("(return *value;)"), message.npos) << message;
  EXPECT_NE(message.find("R0 invalid mem access 'map_value_or_null'"), message.npos) << message;
}

}  // namespace
}  // namespace memtrace
