import assert from "node:assert/strict";
import { test } from "node:test";

import { parseHttpDate, parseRetryAfter, parseRfc3339 } from "../dist/when.js";

test("HTTP dates in all three forms", () => {
  const expected = Date.UTC(1994, 10, 6, 8, 49, 37);
  assert.equal(parseHttpDate("Sun, 06 Nov 1994 08:49:37 GMT"), expected);
  assert.equal(parseHttpDate("Sunday, 06-Nov-94 08:49:37 GMT"), expected);
  assert.equal(parseHttpDate("Sun Nov  6 08:49:37 1994"), expected);
  assert.equal(parseHttpDate("Sun Nov 16 08:49:37 1994"), expected + 10 * 86_400_000);
});

test("what is nearly an HTTP date is none", () => {
  for (const text of ["", "soon", "soon 1", "1994-11-06", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 1994 08:49:37 GMT "]) {
    assert.equal(parseHttpDate(text), undefined, text);
  }
});

test("RFC 3339 times", () => {
  const expected = Date.UTC(2026, 0, 15, 12, 0, 0);
  assert.equal(parseRfc3339("2026-01-15T12:00:00Z"), expected);
  assert.equal(parseRfc3339("2026-01-15t12:00:00.25z"), expected + 250);
  assert.equal(parseRfc3339("2026-01-15T13:30:00.123456+01:30"), expected + 123);
  assert.equal(parseRfc3339("2026-01-15T10:00:00-02:00"), expected);
  for (const text of ["", "2026-01-15", "2026-01-15T12:00:00", "2026-02-30T12:00:00Z", "2026-01-15T12:00:00+25:00", "never"]) {
    assert.equal(parseRfc3339(text), undefined, text);
  }
});

test("Retry-After is seconds or a date, and never negative", () => {
  const now = Date.UTC(2026, 0, 15, 12, 0, 0);
  assert.equal(parseRetryAfter("120", now), 120_000);
  assert.equal(parseRetryAfter("Thu, 15 Jan 2026 12:00:05 GMT", now), 5000);
  assert.equal(parseRetryAfter("Thu, 15 Jan 2026 11:00:05 GMT", now), 0);
  for (const text of ["", "-1", "1.5", "1e3", "0x10", "9999999999"]) assert.equal(parseRetryAfter(text, now), undefined, text);
});
