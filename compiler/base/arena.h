// Arena: nodes that live as long as their stage's product.
//
// Objects are never freed one by one. Destructors do run (nodes hold strings and vectors), in the order
// of creation.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace memtrace {

class Arena {
 public:
  Arena() = default;
  Arena(Arena&&) = default;
  Arena& operator=(Arena&&) = default;

  // Builds a T from `arguments`; the pointer is valid until the arena dies.
  template <typename T, typename... Arguments>
  T* New(Arguments&&... arguments) {
    T* object = new T{std::forward<Arguments>(arguments)...};
    objects_.push_back(Owned(object, [](void* pointer) { delete static_cast<T*>(pointer); }));
    return object;
  }

 private:
  using Owned = std::unique_ptr<void, void (*)(void*)>;
  std::vector<Owned> objects_;
};

}  // namespace memtrace
