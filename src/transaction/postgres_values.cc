// PostgreSQL's binary formats: big-endian numbers, length-prefixed elements.
#include <algorithm>
#include <array>

#include "oncekey/assert.h"
#include "transaction/postgres_values.h"

namespace oncekey::transaction {
namespace {

// PostgreSQL counts its microseconds from 2000-01-01.
constexpr std::int64_t epoch_difference_ms = 946'684'800'000;

template <class Number>
void append_big_endian(std::string& out, Number number) {
  auto bits = static_cast<std::uint64_t>(number);
  char bytes[sizeof(Number)];
  for (std::size_t i = sizeof bytes; i-- > 0; bits >>= 8) bytes[i] = static_cast<char>(bits);
  out.append(bytes, sizeof bytes);
}

std::int64_t read_big_endian(std::string_view bytes) {
  ONCEKEY_ASSERT(bytes.size() == 2 || bytes.size() == 4 || bytes.size() == 8);
  std::uint64_t bits = static_cast<signed char>(bytes[0]) < 0 ? ~std::uint64_t{0} : 0;
  for (const char byte : bytes) bits = bits << 8 | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(bits);
}

}  // namespace

std::int64_t PostgresResult::integer(int row, int column) const {
  return is_null(row, column) ? 0 : read_big_endian(bytes(row, column));
}

bool PostgresResult::boolean(int row, int column) const {
  return !is_null(row, column) && bytes(row, column) == std::string_view("\1", 1);
}

TimestampMs PostgresResult::timestamp(int row, int column) const {
  if (is_null(row, column)) return 0;
  return read_big_endian(bytes(row, column)) / 1000 + epoch_difference_ms;
}

void PostgresParameters::value(std::string bytes, bool is_null) {
  values_.push_back(std::move(bytes));
  nulls_.push_back(is_null);
}

PostgresParameters::View PostgresParameters::view() const {
  View view;
  view.formats.assign(values_.size(), 1);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    view.values.push_back(nulls_[i] ? nullptr : values_[i].data());
    view.lengths.push_back(static_cast<int>(values_[i].size()));
  }
  return view;
}

void PostgresParameters::text(std::string_view text) {
  value(std::string(text));
}

void PostgresParameters::bytes(std::string_view bytes) {
  value(std::string(bytes));
}

void PostgresParameters::integer(std::int64_t number) {
  std::string bytes;
  append_big_endian(bytes, number);
  value(std::move(bytes));
}

void PostgresParameters::null() {
  value({}, true);
}

void PostgresParameters::array(const Array& elements, Element type) {
  std::string bytes;
  bytes.reserve(elements.data_.size() + 20);
  append_big_endian(bytes, std::int32_t{elements.count_ == 0 ? 0 : 1});  // dimensions
  append_big_endian(bytes, std::int32_t{elements.has_null_ ? 1 : 0});
  append_big_endian(bytes, static_cast<std::int32_t>(type));
  if (elements.count_ > 0) {
    append_big_endian(bytes, static_cast<std::int32_t>(elements.count_));
    append_big_endian(bytes, std::int32_t{1});  // the first element's index
  }
  bytes += elements.data_;
  value(std::move(bytes));
}

void PostgresParameters::Array::element(std::string_view bytes) {
  append_big_endian(data_, static_cast<std::int32_t>(bytes.size()));
  data_ += bytes;
  ++count_;
}

void PostgresParameters::Array::small(std::int16_t number) {
  append_big_endian(data_, std::int32_t{2});
  append_big_endian(data_, number);
  ++count_;
}

void PostgresParameters::Array::integer(std::int32_t number) {
  append_big_endian(data_, std::int32_t{4});
  append_big_endian(data_, number);
  ++count_;
}

void PostgresParameters::Array::big(std::int64_t number) {
  append_big_endian(data_, std::int32_t{8});
  append_big_endian(data_, number);
  ++count_;
}

void PostgresParameters::Array::null() {
  append_big_endian(data_, std::int32_t{-1});
  has_null_ = true;
  ++count_;
}

}  // namespace oncekey::transaction
