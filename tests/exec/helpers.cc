// The fakes of all BPF helpers that generated code calls (compiler/codegen/helpers.def).
//
// Each has the signature of its row: pointers are pointers, all else is uint64_t. Which machine and
// CPU it acts for is known to the thread (Running).

#include <cerrno>
#include <cstring>

#include "compiler/base/check.h"
#include "compiler/codegen/helpers.h"
#include "tests/exec/machine.h"

namespace memtrace::exec {
namespace {

// Flags of bpf_get_stack (include/uapi/linux/bpf.h).
constexpr uint64_t kUserStack = 1 << 8;

Machine& Enter(std::string_view helper) {
  Machine* machine = ThisThread().machine;
  MT_CHECK(machine != nullptr, "a helper runs on a machine");
  if (machine->on_helper) machine->on_helper(helper);
  return *machine;
}

uint64_t Clock(std::string_view helper) {
  World& world = Enter(helper).world();
  return world.time += world.step;
}

// The copy of its values that programs on this CPU see.
uint32_t CopyOf(const FakeMap& map) { return map.per_cpu() ? ThisThread().cpu : 0; }

void* Fake_map_lookup_elem(void* map, void* key) {
  FakeMap& fake = Enter("map_lookup_elem").MapAt(map);
  return fake.Lookup(key, CopyOf(fake));
}
void* Fake_map_lookup_percpu_elem(void* map, void* key, uint64_t cpu) {
  return Enter("map_lookup_percpu_elem").MapAt(map).Lookup(key, static_cast<uint32_t>(cpu));
}
uint64_t Fake_map_update_elem(void* map, void* key, void* value, uint64_t flags) {
  FakeMap& fake = Enter("map_update_elem").MapAt(map);
  return static_cast<uint64_t>(fake.Update(key, value, flags, CopyOf(fake)));
}
uint64_t Fake_map_delete_elem(void* map, void* key) {
  return static_cast<uint64_t>(Enter("map_delete_elem").MapAt(map).Delete(key));
}
uint64_t Fake_for_each_map_elem(void* map, void* callback, void* context, uint64_t) {
  using Callback = uint64_t (*)(void* map, const void* key, void* value, void* context);
  auto call = reinterpret_cast<Callback>(callback);
  return static_cast<uint64_t>(Enter("for_each_map_elem")
                                   .MapAt(map)
                                   .ForEach(ThisThread().cpu, [&](const void* key, void* value) {
                                     return static_cast<int64_t>(call(map, key, value, context));
                                   }));
}
uint64_t Fake_loop(uint64_t count, void* callback, void* context, uint64_t) {
  using Callback = uint64_t (*)(uint64_t index, void* context);
  // BPF_MAX_LOOPS of include/linux/bpf.h
  constexpr uint64_t kMaxLoops = 8 << 20;
  Enter("loop");
  auto call = reinterpret_cast<Callback>(callback);
  count &= UINT32_MAX;
  if (count > kMaxLoops) return static_cast<uint64_t>(-E2BIG);
  for (uint64_t i = 0; i < count; ++i) {
    if (call(i, context) != 0) return i + 1;
  }
  return count;
}

// Mappings are told by where they lie in the kernel's memory: struct vm_area_struct is what the
// program reads, this helper only knows their extents.
uint64_t Fake_find_vma(void* task, uint64_t address, void* callback, void* context, uint64_t) {
  using Callback = uint64_t (*)(void* task, void* vma, void* context);
  const World& world = Enter("find_vma").world();
  if (world.vma_error != 0) return static_cast<uint64_t>(world.vma_error);
  if (address < world.vma_begin || address >= world.vma_end) return static_cast<uint64_t>(-ENOENT);
  reinterpret_cast<Callback>(callback)(task, reinterpret_cast<void*>(world.vma), context);
  return 0;
}

uint64_t Fake_ktime_get_ns() { return Clock("ktime_get_ns"); }
uint64_t Fake_ktime_get_boot_ns() { return Clock("ktime_get_boot_ns"); }
uint64_t Fake_ktime_get_coarse_ns() { return Clock("ktime_get_coarse_ns"); }
uint64_t Fake_ktime_get_tai_ns() { return Clock("ktime_get_tai_ns"); }
uint64_t Fake_get_attach_cookie(void*) { return Enter("get_attach_cookie").world().cookie; }

uint64_t Fake_jiffies64() { return Enter("jiffies64").world().jiffies; }
uint64_t Fake_get_prandom_u32() {
  return static_cast<uint32_t>(Enter("get_prandom_u32").world().random++);
}

uint64_t Fake_get_smp_processor_id() {
  Enter("get_smp_processor_id");
  return ThisThread().cpu;
}
uint64_t Fake_get_numa_node_id() { return Enter("get_numa_node_id").world().numa_node; }
uint64_t Fake_get_current_pid_tgid() {
  const World& world = Enter("get_current_pid_tgid").world();
  return world.pid << 32 | world.tid;
}
uint64_t Fake_get_current_uid_gid() {
  const World& world = Enter("get_current_uid_gid").world();
  return world.gid << 32 | world.uid;
}
uint64_t Fake_get_current_task() { return Enter("get_current_task").world().task; }
// Programs load through what this gives, so it must be memory of the host; no case needs it.
void* Fake_get_current_task_btf() {
  return reinterpret_cast<void*>(Enter("get_current_task_btf").world().task);
}
// Only iterators write there, and this lane runs none.
uint64_t Fake_seq_write(void*, void*, uint64_t) {
  Enter("seq_write");
  return 0;
}
uint64_t Fake_get_current_cgroup_id() { return Enter("get_current_cgroup_id").world().cgroup; }
uint64_t Fake_get_current_comm(void* to, uint64_t size) {
  const std::string& comm = Enter("get_current_comm").world().comm;
  char* out = static_cast<char*>(to);
  memset(out, 0, size);
  memcpy(out, comm.data(), std::min<size_t>(comm.size(), size - 1));
  return 0;
}
uint64_t Fake_get_stack(void*, void* to, uint64_t size, uint64_t flags) {
  const World& world = Enter("get_stack").world();
  if (world.stack_error != 0) {
    memset(to, 0, size);
    return static_cast<uint64_t>(world.stack_error);
  }
  const std::vector<uint64_t>& stack = flags & kUserStack ? world.user_stack : world.kernel_stack;
  // What is skipped are the frames of BPF itself, which this world does not have.
  size_t frames = std::min<size_t>(stack.size(), size / sizeof(uint64_t));
  if (frames != 0) memcpy(to, stack.data(), frames * sizeof(uint64_t));
  return frames * sizeof(uint64_t);
}

uint64_t Fake_probe_read_kernel(void* to, uint64_t size, uint64_t from) {
  return static_cast<uint64_t>(
      Enter("probe_read_kernel").world().memory.Read(types::Space::kKernel, from, to, size));
}
uint64_t Fake_probe_read_user(void* to, uint64_t size, uint64_t from) {
  return static_cast<uint64_t>(
      Enter("probe_read_user").world().memory.Read(types::Space::kUser, from, to, size));
}
uint64_t Fake_probe_read_kernel_str(void* to, uint64_t size, uint64_t from) {
  return static_cast<uint64_t>(
      Enter("probe_read_kernel_str")
          .world()
          .memory.ReadString(types::Space::kKernel, from, static_cast<char*>(to), size));
}
uint64_t Fake_probe_read_user_str(void* to, uint64_t size, uint64_t from) {
  return static_cast<uint64_t>(
      Enter("probe_read_user_str")
          .world()
          .memory.ReadString(types::Space::kUser, from, static_cast<char*>(to), size));
}

uint64_t Fake_ringbuf_output(void*, void* data, uint64_t size, uint64_t) {
  return static_cast<uint64_t>(Enter("ringbuf_output").ring().Output(data, size));
}
void* Fake_ringbuf_reserve(void*, uint64_t size, uint64_t) {
  return Enter("ringbuf_reserve").ring().Reserve(size);
}
uint64_t Fake_ringbuf_submit(void* record, uint64_t) {
  Enter("ringbuf_submit").ring().Submit(record);
  return 0;
}
[[maybe_unused]] uint64_t Fake_ringbuf_discard(void* record, uint64_t) {
  Enter("ringbuf_discard").ring().Discard(record);
  return 0;
}
uint64_t Fake_ringbuf_query(void*, uint64_t what) {
  return Enter("ringbuf_query").ring().Query(what);
}

const FakeHelper kFakeHelpers[] = {
#define MT_HELPER(name, number, result, parameters) \
  {"mt_helper_" #name, reinterpret_cast<void*>(&Fake_##name)},
#include "compiler/codegen/helpers.def"
#undef MT_HELPER
};

}  // namespace

Running& ThisThread() {
  thread_local Running running;
  return running;
}

std::span<const FakeHelper> FakeHelpers() { return kFakeHelpers; }

}  // namespace memtrace::exec
