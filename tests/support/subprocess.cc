#include "tests/support/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace memtrace::test {
namespace {

// A runaway program must not take the machine with it.
constexpr size_t kMaxOutput = size_t{256} << 20;

struct Pipe {
  int read = -1;
  int write = -1;

  bool Open() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return false;
    read = fds[0];
    write = fds[1];
    return true;
  }
  static void Close(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
  ~Pipe() {
    Close(read);
    Close(write);
  }
};

std::vector<std::string> FixedEnvironment() {
  std::vector<std::string> environment = {"LC_ALL=C.UTF-8", "TERM=dumb", "TZ=UTC", "COLUMNS=80"};
  for (const char* name : {"PATH", "HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"}) {
    if (const char* value = getenv(name)) environment.push_back(std::string(name) + "=" + value);
  }
  return environment;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Moves `from` to `text` until nothing is left to read now. False at the end of the stream.
bool Drain(int from, std::string& text) {
  char buffer[16384];
  ssize_t size = read(from, buffer, sizeof buffer);
  if (size < 0) return errno == EINTR || errno == EAGAIN;
  if (text.size() < kMaxOutput) text.append(buffer, static_cast<size_t>(size));
  return size > 0;
}

// Feeds and drains the pipes until the program has closed its outputs. False at the deadline.
bool Communicate(const Command& command, Pipe& in, Pipe& out, Pipe& err, Finished& finished) {
  auto deadline = std::chrono::steady_clock::now() + command.timeout;
  std::string_view input = command.input;
  if (input.empty()) Pipe::Close(in.write);
  while (out.read >= 0 || err.read >= 0) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    std::array<pollfd, 3> fds = {{{.fd = out.read, .events = POLLIN, .revents = 0},
                                  {.fd = err.read, .events = POLLIN, .revents = 0},
                                  {.fd = in.write, .events = POLLOUT, .revents = 0}}};
    if (poll(fds.data(), fds.size(), static_cast<int>(left.count())) < 0) continue;
    if (fds[0].revents != 0 && !Drain(out.read, finished.out)) Pipe::Close(out.read);
    if (fds[1].revents != 0 && !Drain(err.read, finished.err)) Pipe::Close(err.read);
    if (fds[2].revents != 0) {
      ssize_t size = write(in.write, input.data(), input.size());
      if (size > 0) input.remove_prefix(static_cast<size_t>(size));
      if (input.empty() || (size < 0 && errno != EINTR && errno != EAGAIN)) Pipe::Close(in.write);
    }
  }
  return true;
}

}  // namespace

Finished Run(const Command& command) {
  Finished finished;
  Pipe in;
  Pipe out;
  Pipe err;
  if (!in.Open() || !out.Open() || !err.Open()) {
    finished.failure = std::string("pipe: ") + strerror(errno);
    return finished;
  }
  // A program that does not read its input must not kill us.
  signal(SIGPIPE, SIG_IGN);
  fcntl(in.write, F_SETFL, O_NONBLOCK);

  // Prepared before the fork: the child may only call what is safe after it.
  std::vector<std::string> words = command.words;
  std::vector<std::string> environment = FixedEnvironment();
  std::vector<char*> argv = Pointers(words);
  std::vector<char*> envp = Pointers(environment);

  pid_t child = fork();
  if (child < 0) {
    finished.failure = std::string("fork: ") + strerror(errno);
    return finished;
  }
  if (child == 0) {
    // Whole process groups can be stopped, and nothing outlives a test program that crashed.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_DFL);
    dup2(in.read, STDIN_FILENO);
    dup2(out.write, STDOUT_FILENO);
    dup2(err.write, STDERR_FILENO);
    if (!command.directory.empty() && chdir(command.directory.c_str()) != 0) _exit(127);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  Pipe::Close(in.read);
  Pipe::Close(out.write);
  Pipe::Close(err.write);

  if (!Communicate(command, in, out, err, finished)) {
    finished.failure = "still running after " + std::to_string(command.timeout.count()) + " s";
    kill(-child, SIGKILL);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  finished.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (finished.exit_status == 127 && finished.failure.empty() && finished.err.empty()) {
    finished.failure = "cannot run " + command.words[0];
  }
  return finished;
}

}  // namespace memtrace::test
