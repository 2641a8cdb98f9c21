#include "runtime/bpf/state.h"

#include <atomic>

#include <sys/mman.h>

namespace memtrace::bpf {

Result<State> State::Open(const plan::Plan& plan, const Loaded& loaded) {
  if (plan.state_size == 0) return State(plan, {});
  int fd = loaded.map_fd(plan::kStateSection);
  if (fd < 0) return Error(ErrorKind::kInvalid, "the object has no section .bss.state");
  void* memory = ::mmap(nullptr, plan.state_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return Error::FromErrno("map the programs' state");
  return State(plan, {static_cast<std::byte*>(memory), plan.state_size});
}

State::~State() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

template <typename T>
static std::atomic_ref<T> At(std::span<std::byte> bytes, uint32_t offset) {
  MT_CHECK(offset % sizeof(T) == 0 && offset + sizeof(T) <= bytes.size(),
           "an offset of the plan lies inside mt_state and is aligned");
  return std::atomic_ref<T>(*reinterpret_cast<T*>(bytes.data() + offset));
}

uint64_t State::Word(uint32_t offset) const {
  return At<uint64_t>(bytes_, offset).load(std::memory_order_relaxed);
}

void State::SetWord(uint32_t offset, uint64_t value) {
  At<uint64_t>(bytes_, offset).store(value, std::memory_order_relaxed);
}

bool State::Bit(uint32_t offset, uint32_t bit) const {
  return (Word(offset + bit / 64 * 8) >> bit % 64 & 1) != 0;
}

void State::SetBit(uint32_t offset, uint32_t bit) {
  At<uint64_t>(bytes_, offset + bit / 64 * 8).fetch_or(uint64_t{1} << bit % 64);
}

uint64_t State::Lost(plan::Index site) const { return Word(plan_->losses_offset + 8 * site); }

uint32_t State::Window(uint32_t offset) const { return At<uint32_t>(bytes_, offset).load() & 1; }

void State::FlipWindow(uint32_t offset) { At<uint32_t>(bytes_, offset).fetch_xor(1); }

}  // namespace memtrace::bpf
