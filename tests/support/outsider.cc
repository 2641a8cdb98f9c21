#include "tests/support/outsider.h"

#include <array>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/tracer.h"

namespace memtrace::test {

Outsider::Outsider(const std::vector<std::string>& words) {
  std::array<int, 2> ends;
  EXPECT_EQ(pipe(ends.data()), 0);
  std::string program = Workload(words[0]);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    setpgid(0, 0);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  close(ends[1]);
  out_ = ends[0];
}

Outsider::~Outsider() {
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  close(out_);
}

void Outsider::WaitForLine() const {
  char c = 0;
  while (read(out_, &c, 1) == 1 && c != '\n') {
  }
}

}  // namespace memtrace::test
