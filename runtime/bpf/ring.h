// Ring: the reader's end of mt_ring, one record at a time in the order of reservation.
//
// Our own consumer of a BPF_MAP_TYPE_RINGBUF instead of libbpf's, which is driven by callbacks: a
// loop over Front() and Pop() can stop at any record. Nothing is allocated and no system call is
// made. Programs wake the reader only from a watermark on, so whoever waits on fd() also needs a
// timer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "compiler/base/result.h"
#include "compiler/plan/plan.h"
#include "runtime/bpf/object.h"

namespace memtrace::bpf {

class Ring {
 public:
  static Result<Ring> Open(const plan::Plan& plan, const Loaded& loaded);
  Ring(Ring&& other) noexcept;
  Ring& operator=(Ring&&) = delete;
  ~Ring();

  // Readable (epoll) when a program woke the reader. Borrowed.
  int fd() const { return fd_; }

  // The oldest record, valid until Pop(); empty when there is none or the oldest is still being
  // written.
  std::span<const std::byte> Front();
  void Pop();

  // Positions count bytes since the beginning. Every record reserved so far lies before produced().
  uint64_t produced() const { return producer_->load(std::memory_order_acquire); }
  uint64_t consumed() const { return position_; }

 private:
  using Position = std::atomic<uint64_t>;
  Ring(int fd, uint32_t size) : fd_(fd), size_(size) {}

  int fd_;
  uint32_t size_;
  Position* consumer_ = nullptr;  // a page that we write
  const Position* producer_ =
      nullptr;  // a page that we read; the data follow, mapped twice in a row
  const std::byte* data_ = nullptr;
  uint64_t position_ = 0;
  uint32_t front_size_ = 0;  // of the record Front() returned, with its header
};

}  // namespace memtrace::bpf
