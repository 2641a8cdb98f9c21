// Machine: runs the programs of a compiled script on the host.
//
// It takes the module that codegen::Lower and Optimise made, before helpers are bound to BPF
// numbers, gives every helper a C++ fake (helpers.cc) and every map an implementation (fake_map.h),
// and compiles the rest with LLVM's JIT. There is no verifier here: the load lane shows that the
// same programs are accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/plan/plan.h"
#include "tests/exec/fake_map.h"
#include "tests/exec/world.h"

namespace llvm {
class LLVMContext;
class Module;
namespace orc {
class LLJIT;
}
}  // namespace llvm

namespace memtrace::exec {

class Machine {
 public:
  // `plan` and `world` must outlive the machine. The error names what a program needs and is not
  // here.
  static Result<std::unique_ptr<Machine>> Create(std::unique_ptr<llvm::LLVMContext> context,
                                                 std::unique_ptr<llvm::Module> module,
                                                 const plan::Plan& plan, World& world);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Runs a program on the world's CPU, or on `cpu`. May be called by several threads and from
  // `on_helper`.
  void Run(plan::Index program, void* context) {
    Run(program, context, static_cast<uint32_t>(world_.cpu));
  }
  void Run(plan::Index program, void* context, uint32_t cpu);

  // Called at the beginning of every helper with its name: "get_current_comm". For events that
  // arrive while a program runs.
  std::function<void(std::string_view helper)> on_helper;

  World& world() { return world_; }
  uint32_t cpus() const { return cpus_; }
  std::span<std::byte> state() { return state_; }
  uint64_t StateWord(uint32_t offset) const;
  void SetStateWord(uint32_t offset, uint64_t word);
  uint32_t Window(const plan::Map& map) const;
  void FlipWindow(uint32_t offset);

  FakeRing& ring() { return ring_; }
  // By ELF name; null when the script has no such map.
  FakeMap* map(std::string_view symbol);
  // What generated code calls a map by: its address.
  FakeMap& MapAt(const void* address);

 private:
  Machine(const plan::Plan& plan, World& world);
  Result<Done> Compile(std::unique_ptr<llvm::LLVMContext> context,
                       std::unique_ptr<llvm::Module> module);
  Result<void*> Address(const std::string& symbol);
  FakeMap::Shape ShapeOf(const plan::Map& map) const;

  const plan::Plan& plan_;
  World& world_;
  uint32_t cpus_;
  FakeRing ring_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::vector<void (*)(void*)> programs_;
  std::map<std::string, std::unique_ptr<FakeMap>, std::less<>> maps_;
  std::map<const void*, FakeMap*> by_address_;
  std::span<std::byte> state_;
};

// The machine and CPU that this thread is running a program on: generated code calls helpers
// without saying for whom.
struct Running {
  Machine* machine = nullptr;
  uint32_t cpu = 0;
};
Running& ThisThread();

// "mt_helper_map_lookup_elem" and the fake's address, for all of helpers.def.
struct FakeHelper {
  std::string_view symbol;
  void* address;
};
std::span<const FakeHelper> FakeHelpers();

}  // namespace memtrace::exec
