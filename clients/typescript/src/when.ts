// Times as servers write them. What is not exactly in the form is undefined, never a guess: Date.parse
// reads "soon 1" as a date.

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const month = months.join("|");
const day = "Mon|Tue|Wed|Thu|Fri|Sat|Sun";
const longDay = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday";
const clock = "(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)";

// RFC 9110, 5.6.7: the form in use, and the two that are still to be understood.
const httpDates = [
  new RegExp(`^(?:${day}), (?<day>\\d\\d) (?<month>${month}) (?<year>\\d{4}) ${clock} GMT$`),
  new RegExp(`^(?:${longDay}), (?<day>\\d\\d)-(?<month>${month})-(?<year>\\d\\d) ${clock} GMT$`),
  new RegExp(`^(?:${day}) (?<month>${month}) (?<day>\\d\\d| \\d) ${clock} (?<year>\\d{4})$`),
];
const rfc3339 = new RegExp(
  `^(?<year>\\d{4})-(?<month>\\d\\d)-(?<day>\\d\\d)[Tt ]${clock}(?:\\.(?<fraction>\\d+))?` +
    "(?:[Zz]|(?<sign>[+-])(?<offsetHour>\\d\\d):(?<offsetMinute>\\d\\d))$",
);
const wholeSeconds = /^\d{1,9}$/;

type Parts = Record<string, string | undefined>;

function timestamp(parts: Parts, year: number, monthNumber: number): number | undefined {
  const [dayNumber, hour, minute, second] = [parts.day, parts.hour, parts.minute, parts.second].map(Number) as [
    number, number, number, number,
  ];
  const date = new Date(0);
  date.setUTCFullYear(year, monthNumber - 1, dayNumber);
  const exists = date.getUTCMonth() === monthNumber - 1 && date.getUTCDate() === dayNumber;
  // 60 is a leap second.
  if (!exists || hour > 23 || minute > 59 || second > 60) return undefined;
  return date.getTime() + ((hour * 60 + minute) * 60 + second) * 1000;
}

function fullYear(digits: string): number {
  const year = Number(digits);
  if (digits.length > 2) return year;
  return year + (year < 70 ? 2000 : 1900);
}

export function parseHttpDate(text: string): number | undefined {
  for (const form of httpDates) {
    const parts = form.exec(text)?.groups;
    if (parts) return timestamp(parts, fullYear(parts.year!), months.indexOf(parts.month!) + 1);
  }
  return undefined;
}

export function parseRfc3339(text: string): number | undefined {
  const parts: Parts | undefined = rfc3339.exec(text)?.groups;
  if (!parts) return undefined;
  const local = timestamp(parts, Number(parts.year), Number(parts.month));
  if (local === undefined) return undefined;
  const milliseconds = Number((parts.fraction ?? "").padEnd(3, "0").slice(0, 3));
  if (parts.sign === undefined) return local + milliseconds;
  const [hours, minutes] = [Number(parts.offsetHour), Number(parts.offsetMinute)];
  if (hours > 23 || minutes > 59) return undefined;
  const offset = (hours * 60 + minutes) * 60_000;
  return local + milliseconds + (parts.sign === "+" ? -offset : offset);
}

// How long to wait from `now`, for both forms of Retry-After.
export function parseRetryAfter(text: string, now: number): number | undefined {
  if (wholeSeconds.test(text)) return Number(text) * 1000;
  const date = parseHttpDate(text);
  return date === undefined ? undefined : Math.max(date - now, 0);
}
