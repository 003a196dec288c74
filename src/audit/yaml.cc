#include <yaml-cpp/yaml.h>

#include <set>

#include "audit/value.h"

namespace oncekey::audit {
namespace {

Mark mark_of(const YAML::Mark& mark) {
  return mark.is_null() ? Mark{} : Mark{mark.line + 1, mark.column + 1};
}

class Reader {
 public:
  Value value(const YAML::Node& node, int depth) {
    const Mark at = mark_of(node.Mark());
    if (depth > depth_max) {
      throw Problem{at,
                    "values stand in one another more than " + std::to_string(depth_max) + " deep"};
    }
    if (++values_ > values_max) {
      throw Problem{at, "has more than " + std::to_string(values_max) +
                            " values, counting each alias as what it stands for"};
    }
    Value out;
    out.at = at;
    if (node.IsScalar()) {
      out.kind = Value::Kind::scalar;
      out.text = node.Scalar();
    } else if (node.IsSequence()) {
      out.kind = Value::Kind::list;
      for (const YAML::Node& item : node) out.items.push_back(value(item, depth + 1));
    } else if (node.IsMap()) {
      out.kind = Value::Kind::object;
      object(node, out, depth);
    }
    return out;
  }

 private:
  void object(const YAML::Node& node, Value& out, int depth) {
    std::set<std::string> names;
    std::vector<Member> merged;
    for (const auto& pair : node) {
      const Mark at = mark_of(pair.first.Mark());
      if (!pair.first.IsScalar()) throw Problem{at, "a member's name must be plain text"};
      const std::string& name = pair.first.Scalar();
      if (!names.insert(name).second) throw Problem{at, "\"" + name + "\" is there twice"};
      Value member = value(pair.second, depth + 1);
      if (name == "<<") {
        merge(std::move(member), merged);
      } else {
        out.members.push_back({name, std::move(member), at});
      }
    }
    for (Member& member : merged) {
      if (out.find(member.name) == nullptr) out.members.push_back(std::move(member));
    }
  }

  // YAML's merge key: one object, or a list of them. What stands beside it goes first.
  static void merge(Value from, std::vector<Member>& into) {
    for (Member& member : from.members) into.push_back(std::move(member));
    for (Value& each : from.items) merge(std::move(each), into);
  }

  std::size_t values_ = 0;
};

}  // namespace

Result<Value, Problem> read_yaml(std::string_view text) {
  try {
    return Reader().value(YAML::Load(std::string(text)), 0);
  } catch (const Problem& problem) {
    return problem;
  } catch (const YAML::Exception& error) {
    return Problem{mark_of(error.mark), "not valid YAML: " + error.msg};
  }
}

}  // namespace oncekey::audit
