#include "runtime/bpf/ring.h"

#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

namespace memtrace::bpf {

static uint64_t PageSize() { return static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)); }

Result<Ring> Ring::Open(const plan::Plan& plan, const Loaded& loaded) {
  int fd = loaded.map_fd(plan::kRingMap);
  if (fd < 0) return Error(ErrorKind::kInvalid, "the object has no ring");
  Ring ring(fd, plan.config.ring_size);
  void* consumer = ::mmap(nullptr, PageSize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (consumer == MAP_FAILED) return Error::FromErrno("map the ring");
  ring.consumer_ = static_cast<Position*>(consumer);
  // The data are mapped twice, so that a record that wraps around is still in one piece.
  void* producer = ::mmap(nullptr, PageSize() + 2 * uint64_t{ring.size_}, PROT_READ, MAP_SHARED, fd,
                          static_cast<off_t>(PageSize()));
  if (producer == MAP_FAILED) return Error::FromErrno("map the ring");
  ring.producer_ = static_cast<const Position*>(producer);
  ring.data_ = static_cast<const std::byte*>(producer) + PageSize();
  return ring;
}

Ring::Ring(Ring&& other) noexcept
    : fd_(other.fd_),
      size_(other.size_),
      consumer_(std::exchange(other.consumer_, nullptr)),
      producer_(std::exchange(other.producer_, nullptr)),
      data_(other.data_),
      position_(other.position_),
      front_size_(other.front_size_) {}

Ring::~Ring() {
  if (consumer_ != nullptr) ::munmap(consumer_, PageSize());
  if (producer_ != nullptr) {
    ::munmap(const_cast<Position*>(producer_), PageSize() + 2 * uint64_t{size_});
  }
}

std::span<const std::byte> Ring::Front() {
  while (position_ < produced()) {
    // Each record begins with {u32 length, u32 page offset}; the two top bits of the length are
    // flags.
    const std::byte* record = data_ + (position_ & (size_ - 1));
    uint32_t header = std::atomic_ref(*reinterpret_cast<uint32_t*>(const_cast<std::byte*>(record)))
                          .load(std::memory_order_acquire);
    if (header & BPF_RINGBUF_BUSY_BIT) return {};
    uint32_t length = header & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
    front_size_ = (length + BPF_RINGBUF_HDR_SZ + 7) & ~7u;
    if (!(header & BPF_RINGBUF_DISCARD_BIT)) return {record + BPF_RINGBUF_HDR_SZ, length};
    Pop();
  }
  return {};
}

void Ring::Pop() {
  position_ += front_size_;
  consumer_->store(position_, std::memory_order_release);
}

}  // namespace memtrace::bpf
