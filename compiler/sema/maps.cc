// @maps: places, keys, and what is stored and read.
#include <fmt/format.h>

#include "compiler/sema/checker.h"

namespace memtrace::sema {

using diag::Code;
using types::Aggregation;
using types::Kind;

namespace {

// What a map can be keyed by: values that have one image in memory.
bool CanBeKey(Type type) {
  if (type.IsTuple()) {
    for (const types::Member& member : type->members) {
      if (!CanBeKey(member.type)) return false;
    }
    return true;
  }
  return type.IsScalar() || type.Is(Kind::kString) || type.IsStack() || type.Is(Kind::kUserSymbol);
}

std::string KeyText(const std::vector<Inferred>& keys) {
  std::string text;
  for (const Inferred& key : keys) {
    if (!text.empty()) text += ", ";
    text += key.type ? key.type.Name() : "?";
  }
  return "[" + text + "]";
}

}  // namespace

Id Checker::MapNamed(const std::string& name, Span span) {
  auto [found, is_new] = map_ids_.emplace(name, static_cast<Id>(maps_.size()));
  if (is_new) maps_.push_back({.name = name, .first_use = span});
  return found->second;
}

Type Checker::MapValue(Id map) const { return maps_[map].value.type; }

bool Checker::IsKeyed(Id map) const { return !maps_[map].keys.empty(); }

void Checker::CheckKeyCount(Id id, size_t count, Span span) {
  MapState& map = maps_[id];
  if (!map.keys_known) {
    map.keys_known = true;
    map.keys_span = span;
    map.keys.resize(count);
    changed_ = true;
  }
}

void Checker::CheckKeys(MapPlace& place, const std::vector<const syntax::Expr*>& written,
                        Span span) {
  std::vector<Expr*> keys;
  for (const syntax::Expr* key : written) {
    Expr* value = CheckValue(*key);
    // @[(a, b)] is @[a, b], also when the tuple is in a variable.
    if (written.size() == 1 && value->type.Is(Kind::kTuple)) {
      if (value->kind != ExprKind::kTuple) value = ConvertTuple(value, value->type);
      keys = static_cast<Tuple*>(value)->elements;
    } else {
      keys.push_back(value);
    }
  }
  CheckKeyCount(place.map, keys.size(), span);
  size_t expected = maps_[place.map].keys.size();
  if (keys.size() != expected) {
    const MapState& map = maps_[place.map];
    Error(Code::kKeyMismatch, span,
          expected == 0  ? fmt::format("{} has no key elsewhere", map.name)
          : keys.empty() ? fmt::format("{} is used without a key", map.name)
                         : fmt::format("{} has {} key{}, here are {}", map.name, expected,
                                       expected == 1 ? "" : "s", keys.size()))
        .Label(map.keys_span, expected == 0 ? "used here without a key"
                                            : fmt::format("used here as {}", KeyText(map.keys)));
    place.keys.assign(expected, ErrorExpr(span));
    return;
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    Expr* key = keys[i];
    if (key->type.IsStruct()) {
      if (Expr* integer = AsInteger(key)) key = integer;
    }
    Inferred& inferred = maps_[place.map].keys[i];
    if (!key->type.IsError() && !CanBeKey(key->type)) {
      Error(Code::kBadKey, key->span, fmt::format("{} can't be a key", key->type.Name()));
      key = ErrorExpr(key->span);
    }
    switch (Merge(inferred, key->type, IsLiteral(*key), key->span, types())) {
      case MergeResult::kChanged:
        changed_ = true;
        break;
      case MergeResult::kSame:
        break;
      case MergeResult::kClash:
        Error(Code::kKeyMismatch, key->span,
              fmt::format("{} is keyed by {}, this is {}", maps_[place.map].name,
                          inferred.type.Name(), key->type.Name()))
            .Label(inferred.first, fmt::format("first used here as {}", inferred.type.Name()));
        key = ErrorExpr(key->span);
        break;
    }
    place.keys.push_back(inferred.type ? Convert(key, inferred.type) : key);
  }
}

MapPlace Checker::CheckPlace(const syntax::Map& map) {
  MapPlace place{.map = MapNamed(map.name, map.name_span)};
  place.closed_window = IsClosedWindow(place.map);
  CheckKeys(place, {map.keys.begin(), map.keys.end()}, map.span);
  return place;
}

void Checker::StoreIn(Id id, Type type, bool is_literal, Span span) {
  MapState& map = maps_[id];
  if (!map.is_assigned) changed_ = true;
  map.is_assigned = true;
  bool can_be_kept = type.IsError() || CanBeKey(type) || type.Is(Kind::kAggregation);
  if (!can_be_kept) {
    Error(Code::kBadMapValue, span, fmt::format("{} can't be kept in a map", type.Name()))
        .Note(type.IsStruct() ? "keep the fields that matter, as a tuple: (x.a, x.b)"
                              : "keep its elements, or str() of it");
    return;
  }
  switch (Merge(map.value, type, is_literal, span, types())) {
    case MergeResult::kChanged:
      changed_ = true;
      return;
    case MergeResult::kSame:
      return;
    case MergeResult::kClash:
      break;
  }
  Type held = map.value.type;
  auto builder = Error(Code::kTypeClash, span,
                       fmt::format("{} holds {}, this is {}", map.name, held.Name(), type.Name()));
  builder.Label(map.value.first, fmt::format("first used here as {}", held.Name()));
  if (held.Is(Kind::kAggregation) != type.Is(Kind::kAggregation)) {
    builder.Note("a map is either one value or one aggregation");
  }
}

Type Checker::ReadType(Id id) {
  Type type = maps_[id].value.type;
  if (!type || !type.Is(Kind::kAggregation)) return type;
  switch (type->aggregation) {
    case Aggregation::kCount:
      return types().Int64();
    case Aggregation::kSum:
    case Aggregation::kMin:
    case Aggregation::kMax:
    case Aggregation::kAvg:
      return Widened(type->target, types());
    case Aggregation::kStats:
    case Aggregation::kHist:
    case Aggregation::kLinearHist:
      return {};
  }
  return {};
}

Expr* Checker::ReadMap(Span span, MapPlace place) {
  const MapState& map = maps_[place.map];
  if (!map.value.type || map.value.type.IsError()) return ErrorExpr(span);
  Type type = ReadType(place.map);
  if (!type) {
    Error(Code::kNotNumber, span,
          fmt::format("{} holds {}, which is no single value", map.name, map.value.type.Name()))
        .Label(map.value.first, "aggregated here")
        .Note(fmt::format("print({}) prints it", map.name));
    return ErrorExpr(span);
  }
  auto* node = New<MapRead>(ExprKind::kMapRead, span, type);
  node->place = std::move(place);
  return node;
}

void Checker::ReportNotNumber(Id id, Span span, std::string_view what) {
  const MapState& map = maps_[id];
  Error(Code::kNotNumber, span,
        fmt::format("{} holds {} and can't be {}", map.name, map.value.type.Name(), what))
      .Label(map.value.first, fmt::format("first used here as {}", map.value.type.Name()));
}

bool Checker::CheckMapArgument(const CallSyntax& call, const Row& row, size_t index, bool with_key,
                               MapPlace& place) {
  const syntax::Expr& expr = *Positional(call)[index];
  std::string_view name = Spelling(row.function);
  if (expr.kind != syntax::ExprKind::kMap) {
    Error(Code::kExpectedMap, expr.span, fmt::format("{}() takes a map", name))
        .Note(fmt::format("written as {}", row.signature));
    return false;
  }
  const auto& map = static_cast<const syntax::Map&>(expr);
  place = {.map = MapNamed(map.name, map.name_span)};
  place.closed_window = IsClosedWindow(place.map);
  if (with_key) {
    CheckKeys(place, {map.keys.begin(), map.keys.end()}, map.span);
    return true;
  }
  if (!map.keys.empty()) {
    Error(Code::kExpectedMap, expr.span, fmt::format("{}() takes a whole map, without a key", name))
        .Note(fmt::format("written as {}", row.signature));
    return false;
  }
  return true;
}

}  // namespace memtrace::sema
