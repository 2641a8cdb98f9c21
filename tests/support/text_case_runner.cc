#include "tests/support/text_case_runner.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/generators.h"
#include "tests/support/subprocess.h"

namespace memtrace::test {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

bool WriteFile(const fs::path& path, std::string_view text) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  return stream.good();
}

// One `.test` file, shared by the tests of its cases because an update rewrites all of it.
struct LoadedFile {
  fs::path path;
  TextCaseFile parsed;
};

class TextCaseTest : public ::testing::Test {
 public:
  TextCaseTest(std::shared_ptr<LoadedFile> file, size_t index, bool update, const RunFunction& run)
      : file_(std::move(file)), index_(index), update_(update), run_(run) {}

  void TestBody() override {
    TextCase& text_case = file_->parsed.cases[index_];
    RunResult result = run_(text_case);
    std::string where = file_->path.string() + ":" + std::to_string(text_case.line);
    if (!result.skip.empty()) GTEST_SKIP() << result.skip;
    if (!result.failure.empty()) FAIL() << where << ": " << result.failure;
    std::optional<std::string> mismatch = Mismatch(text_case, result.observed);
    if (mismatch && update_) {
      Expect(text_case, result.observed);
      ASSERT_TRUE(WriteFile(file_->path, FormatTextCases(file_->parsed.cases)));
      mismatch = Mismatch(text_case, result.observed);
    }
    if (mismatch) FAIL() << where << ": " << text_case.sentence << "\n" << *mismatch;
  }

 private:
  std::shared_ptr<LoadedFile> file_;
  size_t index_;
  bool update_;
  RunFunction run_;
};

class UnreadableFileTest : public ::testing::Test {
 public:
  explicit UnreadableFileTest(std::string message) : message_(std::move(message)) {}
  void TestBody() override { FAIL() << message_; }

 private:
  std::string message_;
};

void RegisterFile(const fs::path& path, const std::string& suite,
                  std::span<const std::string_view> more_sections, bool update,
                  const RunFunction& run) {
  auto file = std::make_shared<LoadedFile>();
  file->path = path;
  file->parsed = ParseTextCases(ReadFile(path), more_sections);
  if (!file->parsed.error.empty()) {
    std::string message = path.string() + ":" + file->parsed.error;
    ::testing::RegisterTest(
        suite.c_str(), "format", nullptr, nullptr, path.c_str(), 1,
        [message]() -> ::testing::Test* { return new UnreadableFileTest(message); });
    return;
  }
  for (size_t i = 0; i < file->parsed.cases.size(); ++i) {
    const TextCase& text_case = file->parsed.cases[i];
    ::testing::RegisterTest(
        suite.c_str(), text_case.sentence.c_str(), nullptr, nullptr, path.c_str(), text_case.line,
        [=]() -> ::testing::Test* { return new TextCaseTest(file, i, update, run); });
  }
}

// A directory that goes away with its owner.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string path = (fs::temp_directory_path() / "memtrace-test-XXXXXX").string();
    if (mkdtemp(path.data()) != nullptr) path_ = path;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void ReplaceAll(std::string& text, const std::string& from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// Appends what `text_case` says to run to `words`, and writes its files. Returns what is wrong with
// the case, or nothing.
std::string PrepareProgram(const TextCase& text_case, const fs::path& directory,
                           std::vector<std::string>& words) {
  for (std::string& word : text_case.Words("args")) words.push_back(std::move(word));
  for (const Section& section : text_case.sections) {
    if (section.name != "file") continue;
    fs::path path = directory / section.value;
    std::error_code ignored;
    fs::create_directories(path.parent_path(), ignored);
    if (!WriteFile(path, section.body)) return "cannot write " + path.string();
  }
  if (const Section* program = text_case.Find("program")) {
    words.push_back("-e");
    words.push_back(program->body.substr(0, program->body.size() - !program->body.empty()));
  }
  if (text_case.Find("program-generator") != nullptr) {
    std::vector<std::string> spec = text_case.Words("program-generator");
    if (spec.size() != 2) return "program-generator needs KIND SIZE";
    std::optional<std::string> program =
        GenerateProgram(spec[0], strtoull(spec[1].c_str(), nullptr, 10));
    if (!program) return "no generator is called " + spec[0];
    // The kernel takes at most 128 KiB in one argument, so this is always a file.
    if (!WriteFile(directory / "program.mt", *program)) return "cannot write the program";
    words.push_back("program.mt");
  }
  return "";
}

}  // namespace

bool TakeUpdateFlag(int& argc, char** argv) {
  int kept = 0;
  for (int i = 0; i < argc; ++i) {
    if (strcmp(argv[i], "--update") != 0) argv[kept++] = argv[i];
  }
  bool found = kept != argc;
  argc = kept;
  return found;
}

void RegisterTextCases(const std::string& folder, std::span<const std::string_view> more_sections,
                       bool update, const RunFunction& run) {
  // Sorted, because the order of a directory is not the same everywhere.
  std::set<fs::path> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; it != end; it.increment(error)) {
    if (it->path().extension() == ".test") paths.insert(it->path());
  }
  for (const fs::path& path : paths) {
    std::string suite = path.lexically_relative(folder).replace_extension().string();
    RegisterFile(path, suite, more_sections, update, run);
  }
}

RunResult RunMemtrace(const TextCase& text_case) {
  RunResult result;
  TemporaryDirectory directory;
  if (directory.path().empty()) {
    result.failure = "cannot make a temporary directory";
    return result;
  }
  std::string sysroot = text_case.Value("sysroot");
  sysroot = std::string(MT_SOURCE_DIR "/tests/") + (sysroot.empty() ? "fixture" : sysroot);

  Command command;
  command.words = {MT_BUILD_DIR "/memtrace", "--sysroot", sysroot};
  command.directory = directory.path();
  if (const Section* input = text_case.Find("stdin")) command.input = input->body;
  result.failure = PrepareProgram(text_case, directory.path(), command.words);
  if (!result.failure.empty()) return result;

  Finished finished = Run(command);
  result.failure = finished.failure;
  result.observed = {.out = std::move(finished.out),
                     .err = std::move(finished.err),
                     .exit_status = finished.exit_status};
  for (std::string* text : {&result.observed.out, &result.observed.err}) {
    ReplaceAll(*text, sysroot, "$SYSROOT");
    ReplaceAll(*text, directory.path().string(), "$TMP");
  }
  return result;
}

}  // namespace memtrace::test
