// Checks every #include of compiler/ and runtime/ against the layers that CMake links.
//
// The table is not repeated here: the build writes what each mt_library() was given to layers.txt.
// A link edge alone does not stop anyone from including a header of a layer that happens to be
// linked through another one, hence this test. The rules for LLVM, libbpf and readline do stand
// here, so that a new EXTERNAL in some CMakeLists.txt is not enough to let them in.

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace memtrace {
namespace {

namespace fs = std::filesystem;
using Strings = std::set<std::string>;

struct Layer {
  std::string name;
  std::string folder;
  Strings public_deps;
  Strings private_deps;
  Strings externals;
};

using Layers = std::map<std::string, Layer>;  // by name

// External headers that only some files may include: those whose path starts with one of `only_in`.
struct External {
  std::string_view header_prefix;
  std::string_view name;  // in EXTERNAL of mt_library()
  std::vector<std::string_view> only_in;
};

const std::vector<External> kExternals = {
    {"llvm/", "llvm", {"compiler/codegen/", "compiler/builtins/lowering/"}},
    {"llvm-c/", "llvm", {}},
    {"clang/", "llvm", {}},
    {"bpf/", "bpf", {"runtime/bpf/", "runtime/attach/"}},
    {"readline/", "readline", {"runtime/repl/line_reader.cc"}},
    {"libelf.h", "elf", {"runtime/symbols/", "compiler/user/"}},
    {"gelf.h", "elf", {"runtime/symbols/", "compiler/user/"}},
    {"elfutils/", "dw", {"runtime/symbols/", "compiler/user/"}},
    {"dwarf.h", "dw", {"runtime/symbols/", "compiler/user/"}},
    {"nlohmann/", "json", {"compiler/plan/", "runtime/output/"}},
};

Layers ParseLayers(std::istream& text) {
  Layers layers;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    Layer layer;
    words >> layer.name >> layer.folder;
    Strings* list = nullptr;
    for (std::string word; words >> word;) {
      if (word == "public") {
        list = &layer.public_deps;
      } else if (word == "private") {
        list = &layer.private_deps;
      } else if (word == "external") {
        list = &layer.externals;
      } else if (list != nullptr) {
        list->insert(word);
      }
    }
    layers[layer.name] = layer;
  }
  return layers;
}

void AddPublic(const Layers& layers, const std::string& name, Strings& reached) {
  if (!reached.insert(name).second) return;
  auto layer = layers.find(name);
  if (layer == layers.end()) return;
  for (const std::string& dep : layer->second.public_deps) AddPublic(layers, dep, reached);
}

// The layers whose headers `layer` may include: itself, its dependencies, and what these make
// public.
Strings Reachable(const Layers& layers, const Layer& layer) {
  Strings reached;
  AddPublic(layers, layer.name, reached);
  for (const std::string& dep : layer.private_deps) AddPublic(layers, dep, reached);
  return reached;
}

const Layer* LayerOf(const Layers& layers, const std::string& path) {
  std::string folder = fs::path(path).parent_path().string();
  for (const auto& [name, layer] : layers) {
    if (layer.folder == folder) return &layer;
  }
  return nullptr;
}

// What is wrong with `path` including `header`, or nothing.
std::string CheckInclude(const Layers& layers, const std::string& path, const std::string& header) {
  const Layer* from = LayerOf(layers, path);
  if (from == nullptr) return path + ": its folder is no layer; add an mt_library()";
  for (const External& external : kExternals) {
    if (!header.starts_with(external.header_prefix)) continue;
    bool allowed = false;
    for (std::string_view place : external.only_in) allowed |= path.starts_with(place);
    if (!allowed) return path + ": may not include <" + header + ">";
    if (!from->externals.contains(std::string(external.name))) {
      return path + ": includes <" + header + "> without EXTERNAL " + std::string(external.name);
    }
    if (external.name == "json" && path.ends_with(".h")) {
      return path + ": <" + header + "> belongs into a .cc, it takes seconds to compile";
    }
  }
  if (!header.starts_with("compiler/") && !header.starts_with("runtime/")) return "";
  const Layer* to = LayerOf(layers, header);
  if (to == nullptr) return path + ": \"" + header + "\" is in no layer";
  if (!Reachable(layers, *from).contains(to->name)) {
    return path + ": " + from->name + " may not include \"" + header + "\"";
  }
  return "";
}

// The headers that the lines of `text` include.
std::vector<std::string> Includes(std::istream& text) {
  std::vector<std::string> headers;
  for (std::string line; std::getline(text, line);) {
    size_t hash = line.find_first_not_of(" \t");
    if (hash == line.npos || line[hash] != '#') continue;
    size_t word = line.find_first_not_of(" \t", hash + 1);
    if (word == line.npos || line.compare(word, 7, "include") != 0) continue;
    size_t open = line.find_first_of("\"<", word);
    size_t close = open == line.npos ? open : line.find_first_of("\">", open + 1);
    if (close != line.npos) headers.push_back(line.substr(open + 1, close - open - 1));
  }
  return headers;
}

bool IsAcyclic(const Layers& layers, const std::string& name, Strings& above, Strings& done) {
  if (done.contains(name)) return true;
  if (!above.insert(name).second) return false;
  auto layer = layers.find(name);
  if (layer == layers.end()) return false;
  for (const Strings* deps : {&layer->second.public_deps, &layer->second.private_deps}) {
    for (const std::string& dep : *deps) {
      if (!IsAcyclic(layers, dep, above, done)) return false;
    }
  }
  above.erase(name);
  done.insert(name);
  return true;
}

const Layers& BuildLayers() {
  static const Layers layers = [] {
    std::ifstream text(MT_BUILD_DIR "/layers.txt");
    return ParseLayers(text);
  }();
  return layers;
}

TEST(Layers, EveryIncludeIsAllowed) {
  size_t files = 0;
  for (const char* top : {"compiler", "runtime"}) {
    fs::path root = MT_SOURCE_DIR;
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      fs::path path = entry.path();
      if (path.extension() != ".h" && path.extension() != ".cc") continue;
      ++files;
      std::ifstream text(path);
      std::string relative = path.lexically_relative(root).string();
      for (const std::string& header : Includes(text)) {
        EXPECT_EQ(CheckInclude(BuildLayers(), relative, header), "");
      }
    }
  }
  EXPECT_GT(files, 0u);
}

TEST(Layers, DependOnEachOtherInOneDirection) {
  Strings done;
  for (const auto& [name, layer] : BuildLayers()) {
    Strings above;
    EXPECT_TRUE(IsAcyclic(BuildLayers(), name, above, done)) << name;
  }
}

TEST(Layers, TheRuntimeKnowsNothingOfTheCompilersStages) {
  for (const auto& [name, layer] : BuildLayers()) {
    if (!layer.folder.starts_with("runtime/")) continue;
    Strings reached = Reachable(BuildLayers(), layer);
    for (const char* stage : {"sema", "codegen", "builtin_rows", "builtin_lowering"}) {
      EXPECT_FALSE(reached.contains(stage)) << name << " reaches " << stage;
    }
    bool may_compile = name == "driver" || name == "repl";
    EXPECT_TRUE(may_compile || !reached.contains("compile")) << name;
  }
}

// The check itself can fail: a checker that finds nothing looks just like a clean tree.
TEST(Layers, ForbiddenIncludesAreFound) {
  std::istringstream text(
      "low a/low public private external\n"
      "mid compiler/mid public low private external llvm\n"
      "hidden compiler/hidden public low private external\n"
      "top compiler public mid private hidden external\n"
      "user runtime/user public top private external\n"
      "codegen compiler/codegen public private external llvm\n");
  Layers layers = ParseLayers(text);
  auto check = [&](const char* path, const char* header) {
    return CheckInclude(layers, path, header);
  };
  EXPECT_EQ(check("compiler/top.cc", "compiler/mid/x.h"), "");
  EXPECT_EQ(check("compiler/top.cc", "compiler/hidden/x.h"), "");
  EXPECT_EQ(check("runtime/user/u.cc", "compiler/mid/x.h"), "");
  EXPECT_EQ(check("runtime/user/u.cc", "vector"), "");
  EXPECT_EQ(check("compiler/codegen/c.cc", "llvm/IR/Module.h"), "");

  EXPECT_NE(check("runtime/user/u.cc", "compiler/hidden/x.h"), "");
  EXPECT_NE(check("compiler/mid/m.cc", "compiler/top.h"), "");
  EXPECT_NE(check("compiler/mid/m.cc", "compiler/nowhere/x.h"), "");
  EXPECT_NE(check("compiler/nowhere/n.cc", "vector"), "");
  EXPECT_NE(check("compiler/mid/m.cc", "llvm/IR/Module.h"), "");
  EXPECT_NE(check("runtime/user/u.cc", "bpf/libbpf.h"), "");
  EXPECT_NE(check("runtime/user/u.cc", "readline/readline.h"), "");
}

TEST(Layers, IncludesAreRead) {
  std::istringstream text(
      "#include \"a/b.h\"\n"
      "  #  include <vector>\n"
      "// #include \"c.h\"\n"
      "#define include\n");
  EXPECT_EQ(Includes(text), (std::vector<std::string>{"a/b.h", "vector"}));
}

}  // namespace
}  // namespace memtrace
