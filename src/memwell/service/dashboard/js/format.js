// Numbers and times as people of the chosen language write them.
import { locale } from './language.js';

const made = new Map();

function formatter(Kind, options) {
  const key = Kind.name + locale() + JSON.stringify(options);
  if (!made.has(key)) made.set(key, new Kind(locale(), options));
  return made.get(key);
}

export const NOTHING = '–';

export function number(value, digits = 0) {
  if (value == null) return NOTHING;
  return formatter(Intl.NumberFormat, { maximumFractionDigits: digits }).format(value);
}

export function exact(value, digits = 2) {
  if (value == null) return NOTHING;
  return formatter(Intl.NumberFormat, { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(value);
}

export function compact(value) {
  if (value == null) return NOTHING;
  if (Math.abs(value) < 10_000) return number(value, 1);
  return formatter(Intl.NumberFormat, { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}

export function signed(value, digits = 2) {
  return formatter(Intl.NumberFormat, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    signDisplay: 'exceptZero',
  }).format(value);
}

export function percent(share, digits = 0) {
  if (share == null) return NOTHING;
  return formatter(Intl.NumberFormat, { style: 'percent', maximumFractionDigits: digits }).format(share);
}

export function bytes(value) {
  if (value == null) return NOTHING;
  const steps = ['byte', 'kilobyte', 'megabyte', 'gigabyte'];
  let step = 0;
  while (value >= 1000 && step < steps.length - 1) {
    value /= 1000;
    step += 1;
  }
  return formatter(Intl.NumberFormat, {
    style: 'unit',
    unit: steps[step],
    unitDisplay: step ? 'short' : 'long',
    maximumFractionDigits: value < 10 && step ? 1 : 0,
  }).format(value);
}

// Seconds, as short as they can be read: 840 µs, 4.2 ms, 1.3 s.
export function duration(seconds) {
  if (seconds == null) return NOTHING;
  if (seconds > 0 && seconds < 0.001) return `${number(seconds * 1e6)}\u00a0µs`;
  if (seconds < 1) return `${number(seconds * 1000, seconds < 0.01 ? 1 : 0)}\u00a0ms`;
  if (seconds < 120) return `${number(seconds, seconds < 10 ? 1 : 0)}\u00a0s`;
  const [unit, size] = seconds < 7200 ? ['minute', 60] : seconds < 172_800 ? ['hour', 3600] : ['day', 86_400];
  return formatter(Intl.NumberFormat, { style: 'unit', unit, maximumFractionDigits: 0 }).format(seconds / size);
}

export function dateTime(value, seconds = false) {
  if (!value) return NOTHING;
  const options = { dateStyle: 'medium', timeStyle: seconds ? 'medium' : 'short' };
  return formatter(Intl.DateTimeFormat, options).format(new Date(value));
}

export function date(value) {
  return value ? formatter(Intl.DateTimeFormat, { dateStyle: 'medium' }).format(new Date(value)) : NOTHING;
}

export function clock(value, span) {
  const options =
    span === '1h' || span === '24h'
      ? { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }
      : { month: 'numeric', day: 'numeric' };
  return formatter(Intl.DateTimeFormat, options).format(new Date(value));
}

const AGO = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

export function ago(value) {
  if (!value) return NOTHING;
  const seconds = (new Date(value) - Date.now()) / 1000;
  const words = formatter(Intl.RelativeTimeFormat, { numeric: 'auto' });
  for (const [unit, size] of AGO) {
    if (Math.abs(seconds) >= size) return words.format(Math.round(seconds / size), unit);
  }
  return words.format(0, 'second');
}

export function list(names) {
  return formatter(Intl.ListFormat, { type: 'conjunction', style: 'long' }).format(names);
}
