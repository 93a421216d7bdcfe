// Why a memory was found: the reasons that the words name, as small bars with their parts of the score. On demand each
// signal by itself, to the right what speaks for the memory, to the left against.
import * as format from './format.js';
import { speaking } from './language.js';
import { button, h, replace, svg } from './parts.js';
import words from './words/signals.js';

const t = speaking(words);
const TINY = 0.0005;
const LEAST_PART = 0.03;
const TOLD = 4; // How many reasons the words name.
const CLOSE = 0.5;
const OFTEN = 0.75;
const OTHER = 'other';

// Signals that say the same are one reason, as in the words that the service gives along.
const REASONS = {
  meaning: ['dense', 'dense_best', 'late', 'late_best'],
  words: ['words', 'coverage', 'rarest'],
  near_words: ['window_coverage', 'late_window'],
  talk: ['session', 'dense_session'],
  answer: ['answers_dense', 'follows_question'],
  time: ['time'],
  when: ['when'],
  number: ['how_many'],
  speaker: ['speaker', 'role'],
  importance: ['importance', 'worth'],
  recency: ['recency', 'access'],
  uses: ['uses'],
  reranker: ['reranker'],
  current: ['current'],
};
const REASON_OF = Object.fromEntries(Object.entries(REASONS).flatMap(([reason, signals]) => signals.map((signal) => [signal, reason])));
// Without neighbours, in a conversation, a memory was compared with itself.
const ALONE = { ...REASON_OF, window_coverage: 'words', session: 'words', dense_session: 'meaning', late_window: 'meaning' };

function nameOf(signal) {
  // A newer service may know signals that this page does not.
  return signal in words.en ? t(signal) : signal;
}

const shareOf = (signal) => (typeof signal === 'number' ? signal : signal.share);

// `signals` is { name: { value, share } } as a recall gives them, or { name: share } as a receipt does.
function shares(signals) {
  return Object.entries(signals ?? {})
    .map(([name, signal]) => [name, shareOf(signal)])
    .filter(([, share]) => Math.abs(share) >= TINY)
    .sort((one, other) => Math.abs(other[1]) - Math.abs(one[1]));
}

// The reasons with their parts of all that speaks for the hit, the weightiest first: [[reason, part], …].
function reasons(signals, { session = '' } = {}) {
  const found = new Map();
  const table = session ? REASON_OF : ALONE;
  let total = 0;
  for (const [name, signal] of Object.entries(signals ?? {})) {
    const share = shareOf(signal);
    total += Math.max(share, 0);
    // Half is the importance of what nobody has called important or not.
    const silent = signal.value != null && signal.value <= (name === 'importance' ? 0.5 : 0);
    if (table[name] && !silent) found.set(table[name], (found.get(table[name]) ?? 0) + share);
  }
  return sorted([...found].filter(([, share]) => share > 0 && share >= LEAST_PART * total).map(([reason, share]) => [reason, share / total]));
}

// Reasons of one sort, as the bar of a hit tells them by a colour.
export const FAMILIES = {
  meaning: ['meaning', 'answer', 'reranker'],
  words: ['words'],
  talk: ['near_words', 'talk'],
  time: ['time', 'when', 'number'],
  who: ['speaker'],
  worth: ['importance', 'recency', 'uses'],
  current: ['current'],
  other: [],
};
const FAMILY_OF = Object.fromEntries(Object.entries(FAMILIES).flatMap(([family, all]) => all.map((reason) => [reason, family])));

export const familyName = (family) => t(`family.${family}`);

// What speaks for a hit, as parts of 1 by the sort of reason, in the order of the legend: [[family, part], …].
export function families({ signals = {}, session = '' }) {
  const table = session ? REASON_OF : ALONE;
  const found = Object.fromEntries(Object.keys(FAMILIES).map((family) => [family, 0]));
  for (const [name, signal] of Object.entries(signals)) found[FAMILY_OF[table[name]] ?? OTHER] += Math.max(shareOf(signal), 0);
  const total = Object.values(found).reduce((sum, share) => sum + share, 0) || 1;
  return Object.entries(found).map(([family, share]) => [family, share / total]).filter(([, part]) => part >= TINY);
}

const sorted = (parts) => parts.sort((one, other) => other[1] - one[1]);

// Where the words say that only the name of who spoke was shared, the bars say so too.
function agreeing(parts, why) {
  const at = parts.findIndex(([reason]) => reason === 'words');
  if (!why || at < 0 || at >= TOLD || why.includes(t('reason.words'))) return parts;
  const speaker = parts[at][1] + (parts.find(([reason]) => reason === 'speaker')?.[1] ?? 0);
  return sorted([...parts.filter(([reason]) => reason !== 'words' && reason !== 'speaker'), ['speaker', speaker]]);
}

function phrase(reason, signals, speaker) {
  const value = (name) => signals[name]?.value;
  if (reason === 'speaker') return speaker ? t('reason.speaker', { speaker }) : t('reason.anyone');
  if (reason === 'meaning' && value('dense') < CLOSE) return t('reason.loosely');
  if (reason === 'uses' && value('uses') < OFTEN) return t('reason.used');
  return t(`reason.${reason}`);
}

// The weightiest reasons of a receipt's entry, which holds its first signals only, and of them only the shares: names
// without numbers. What every memory has more or less of is no reason without its value.
export function reasonNames(signals = {}) {
  const telling = Object.fromEntries(Object.entries(signals).filter(([name]) => name !== 'importance' && (name !== 'role' || 'speaker' in signals)));
  return reasons(telling, { session: true }).map(([reason]) => phrase(reason, telling, '')).join(' · ');
}

export function signalBars(signals, { speaker = '', session = '', why = '' } = {}) {
  const parts = agreeing(reasons(signals, { session }), why).map(([reason, part]) => [phrase(reason, signals, speaker), Math.round(100 * part)]);
  const rest = 100 - parts.reduce((sum, [, part]) => sum + part, 0);
  const all = shares(signals);
  const box = h('div', { class: 'signals-box' });
  const draw = (whole) => {
    const opener = button({ label: whole ? t('fewer') : t('all', { count: all.length }), kind: 'quiet', small: true, 'aria-expanded': whole, onclick: () => (draw(!whole), box.querySelector('button').focus()) });
    replace(box, partBars(rest > 0 ? [...parts, [t(`reason.${OTHER}`), rest]] : parts), all.length > 1 && opener, whole && bars(all.map(([name, share]) => [nameOf(name), share])));
  };
  draw(false);
  return box;
}

function partBars(rows) {
  const most = Math.max(...rows.map(([, part]) => part), 1);
  return h(
    'ul',
    { class: 'signals parts', 'aria-label': t('label') },
    rows.map(([name, part]) => h('li', {}, h('span', { class: 'name' }, name), bar(part, (value) => (100 * value) / most), h('span', { class: 'value' }, format.percent(part / 100)))),
  );
}

function bars(rows) {
  const all = rows.map(([, share]) => share);
  const [least, most] = [Math.min(0, ...all), Math.max(0, ...all)];
  const place = (share) => (100 * (share - least)) / (most - least || 1);
  return h(
    'ul',
    { class: 'signals single', 'aria-label': t('label.single') },
    rows.map(([name, share]) => h('li', {}, h('span', { class: 'name' }, name), bar(share, place), h('span', { class: `value${share < 0 ? ' against' : ''}` }, format.signed(share)))),
  );
}

function bar(share, place) {
  const [from, to] = [place(0), place(share)];
  return svg(
    'svg',
    { 'aria-hidden': 'true', preserveAspectRatio: 'none' },
    svg('line', { class: 'bar-zero', x1: `${from}%`, x2: `${from}%`, y1: 0, y2: 9 }),
    svg('rect', {
      class: share < 0 ? 'bar-against' : 'bar-for',
      x: `${Math.min(from, to)}%`,
      width: `${Math.max(Math.abs(to - from), 0.8)}%`,
      y: 1,
      height: 7,
      rx: 2,
    }),
  );
}
