#include "boundary/structured_field.h"

#include <cstddef>

#include "boundary/ascii.h"

namespace oncekey {
namespace {

constexpr std::size_t integer_digits_max = 15;
constexpr std::size_t decimal_whole_digits_max = 12;
constexpr std::size_t decimal_fraction_digits_max = 3;

bool is_token_character(char c) {
  return is_alpha(c) || is_digit(c) ||
         (c != '\0' && std::string_view("!#$%&'*+-.^_`|~:/").find(c) != std::string_view::npos);
}
bool is_base64(char c) {
  return is_alpha(c) || is_digit(c) || c == '+' || c == '/' || c == '=';
}
bool is_key_character(char c) {
  return is_lower(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == '*';
}

class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  bool take_if(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  template <class Predicate>
  std::string_view take_while(Predicate predicate) {
    std::size_t n = 0;
    while (n < rest_.size() && predicate(rest_[n])) ++n;
    const auto taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }
  void skip_spaces() {
    take_while([](char c) { return c == ' '; });
  }

 private:
  std::string_view rest_;
};

std::optional<Item> parse_string(Cursor& cursor) {
  cursor.take();
  Item item{ItemKind::string, {}};
  while (!cursor.at_end()) {
    const char c = cursor.take();
    if (c == '"') return item;
    if (c < 0x20 || c > 0x7E) return std::nullopt;
    if (c != '\\') {
      item.text.push_back(c);
      continue;
    }
    if (cursor.peek() != '"' && cursor.peek() != '\\') return std::nullopt;
    item.text.push_back(cursor.take());
  }
  return std::nullopt;
}

std::optional<Item> parse_number(Cursor& cursor) {
  Item item{ItemKind::integer, {}};
  if (cursor.take_if('-')) item.text = "-";
  const auto whole = cursor.take_while(is_digit);
  if (whole.empty() || whole.size() > integer_digits_max) return std::nullopt;
  item.text.append(whole);
  if (!cursor.take_if('.')) return item;
  const auto fraction = cursor.take_while(is_digit);
  if (whole.size() > decimal_whole_digits_max || fraction.empty() ||
      fraction.size() > decimal_fraction_digits_max) {
    return std::nullopt;
  }
  item.kind = ItemKind::decimal;
  item.text.append(".").append(fraction);
  return item;
}

std::optional<Item> parse_byte_sequence(Cursor& cursor) {
  cursor.take();
  Item item{ItemKind::byte_sequence, std::string(cursor.take_while(is_base64))};
  if (!cursor.take_if(':')) return std::nullopt;
  return item;
}

std::optional<Item> parse_boolean(Cursor& cursor) {
  cursor.take();
  if (cursor.peek() != '0' && cursor.peek() != '1') return std::nullopt;
  return Item{ItemKind::boolean, std::string(1, cursor.take())};
}

std::optional<Item> parse_bare_item(Cursor& cursor) {
  const char c = cursor.peek();
  if (c == '"') return parse_string(cursor);
  if (c == '-' || is_digit(c)) return parse_number(cursor);
  if (c == ':') return parse_byte_sequence(cursor);
  if (c == '?') return parse_boolean(cursor);
  if (c == '*' || is_alpha(c)) {
    return Item{ItemKind::token, std::string(cursor.take_while(is_token_character))};
  }
  return std::nullopt;
}

bool skip_parameters(Cursor& cursor) {
  while (cursor.take_if(';')) {
    cursor.skip_spaces();
    if (!is_lower(cursor.peek()) && cursor.peek() != '*') return false;
    cursor.take_while(is_key_character);
    if (cursor.take_if('=') && !parse_bare_item(cursor)) return false;
  }
  return true;
}

}  // namespace

std::optional<Item> parse_item(std::string_view field) {
  Cursor cursor(field);
  cursor.skip_spaces();
  auto item = parse_bare_item(cursor);
  if (!item || !skip_parameters(cursor)) return std::nullopt;
  cursor.skip_spaces();
  if (!cursor.at_end()) return std::nullopt;
  return item;
}

}  // namespace oncekey
