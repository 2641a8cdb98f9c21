// Outsider: a workload that runs beside the tracer and that nobody asked it to run.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace memtrace::test {

// Destroying it kills it and its process group.
class Outsider {
 public:
  // The workload by its name, and arguments.
  explicit Outsider(const std::vector<std::string>& words);
  Outsider(const Outsider&) = delete;
  ~Outsider();

  pid_t pid() const { return pid_; }
  // Waits for the first line of its output, or for its end.
  void WaitForLine() const;

 private:
  pid_t pid_ = -1;
  int out_ = -1;
};

}  // namespace memtrace::test
