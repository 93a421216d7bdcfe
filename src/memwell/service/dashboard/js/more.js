// What the pages of conversations, facts, documents and the service share. The first of them brings their style along.
import { path } from './api.js';
import * as format from './format.js';
import { language, speaking } from './language.js';
import { busy, button, dialog, field, h, icon, replace, svg } from './parts.js';
import { problem, t as shellT } from './shell.js';
import words, { CHINESE } from './words/more.js';

const t = speaking(words);

// Waited for, so that no page is seen without its style; without it they can still be read.
await new Promise((done) => {
  const link = h('link', { rel: 'stylesheet', href: new URL('../css/more.css', import.meta.url).href, onload: done });
  link.addEventListener('error', done);
  document.head.append(link);
});

// What somebody wrote or named. It is nobody's to translate, and may run from right to left.
export function own(text, props = {}) {
  return h('bdi', { translate: 'no', ...props }, text);
}

// The text with the words of a query marked.
export function marked(text, query) {
  const terms = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])].filter((term) => term.length > 1 || !/^[\p{ASCII}]$/u.test(term));
  if (!terms.length) return [text];
  // Among longer words the short ones are those of the grammar.
  const long = terms.filter((term) => term.length > 3 || /\P{ASCII}|\d/u.test(term));
  // Chinese has no blanks between words, so pairs of characters stand for them.
  const pieces = (long.length ? long : terms).flatMap((term) => (/\p{Script=Han}{3}/u.test(term) ? pairs(term) : [term]));
  return highlighted(text, pieces);
}

// The text with each of the pieces marked, in any case.
export function highlighted(text, pieces) {
  const found = new RegExp([...pieces].sort((one, other) => other.length - one.length).map(escaped).join('|'), 'giu');
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(found)) {
    parts.push(text.slice(at, match.index), h('mark', {}, match[0]));
    at = match.index + match[0].length;
  }
  return [...parts, text.slice(at)].filter((part) => part !== '');
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const pairs = (term) => Array.from({ length: [...term].length - 1 }, (_, at) => [...term].slice(at, at + 2).join(''));

export function short(text, most = 160) {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
}

// `lives_in` in words. What comes after "favourite:" is the user's own.
export function relation(name) {
  if (name.startsWith('favourite:')) return t('relation.favourite', { what: translated(name.slice(10)) });
  return `relation.${name}` in words.en ? t(`relation.${name}`) : name.replaceAll('_', ' ');
}

// The service names the relatives of the user in English, whatever they were called.
const translated = (what) => (language() === 'zh' ? (CHINESE.get(what) ?? what) : what);
const OF_USER = "user's ";

export function person(name) {
  if (name.startsWith(OF_USER)) return t('user.of', { what: translated(name.slice(OF_USER.length)) });
  return name === 'user' ? t('user') : name;
}

// What the service names as the source of a fact that somebody stated, instead of a memory's id.
const BY_HAND = 'by hand';

// Links to the memories that say something. Their words come when somebody points at them.
export function evidence(app, ids) {
  const links = [...new Set(ids)].slice(0, 5).map((id, at) => {
    if (id === BY_HAND) return h('span', { class: 'muted' }, t('by_hand'));
    const link = h('a', { href: `#/memories/${encodeURIComponent(id)}`, 'aria-label': t('evidence', { number: at + 1 }) }, at ? '' : icon('link', 14), String(at + 1));
    const look = async () => {
      const memory = await app.api.get(path`/v1/memories/${id}`, {}, app.signal).catch(() => null);
      link.title = memory ? short(memory.text) : t('gone');
    };
    link.addEventListener('pointerenter', look, { once: true });
    link.addEventListener('focus', look, { once: true });
    return link;
  });
  return h('span', { class: 'evidence' }, links);
}

// When a fact began and ended, as far as is known.
export const began = (fact) => fact.valid_from ?? fact.said_at;
export const isOver = (fact, now = Date.now()) => fact.retired_at != null || (fact.valid_to != null && Date.parse(fact.valid_to) <= now);

export function since(fact) {
  // Two equal ends: it was over by then, and its beginning is unknown.
  if (fact.valid_from && fact.valid_from === fact.valid_to) return '';
  return fact.valid_from ? format.date(fact.valid_from) : t('said', { date: format.date(fact.said_at) });
}

export function until(fact) {
  if (fact.retired_at) return t('retired', { date: format.date(fact.retired_at) });
  return fact.valid_to ? format.date(fact.valid_to) : '';
}

// Rows of a name, a bar and a number.
export function bars(rows, { label, write = format.number }) {
  const most = Math.max(...rows.map((row) => row.value), 1);
  return h(
    'ul',
    { class: 'bars', 'aria-label': label },
    rows.map((row) =>
      h(
        'li',
        {},
        h('span', { class: 'name' }, own(row.name)),
        svg('svg', { 'aria-hidden': 'true' }, svg('rect', { class: 'bar-for', width: `${(100 * row.value) / most}%`, height: 9, rx: 2 })),
        h('span', { class: 'value' }, write(row.value)),
        row.more,
      ),
    ),
  );
}

export function progress(share, label) {
  const told = share == null ? null : Math.round(100 * share);
  return h('progress', { class: 'progress', max: 100, value: told, 'aria-label': label });
}

// A question before something that cannot be taken back. With `word` it must be typed first.
export function confirmed({ title, text, word, go, work }) {
  const typed = h('input', { autocomplete: 'off', autocapitalize: 'none' });
  const sure = h('button', { class: 'button danger primary', type: 'submit', disabled: Boolean(word) }, go);
  const out = h('div', {});
  typed.addEventListener('input', () => (sure.disabled = typed.value.trim().toLowerCase() !== word.toLowerCase()));
  const form = h(
    'form',
    { class: 'stack' },
    h('p', {}, text),
    word && field(t('confirm.type', { word }), typed),
    out,
    h('div', { class: 'row' }, sure, button({ label: shellT('cancel'), onclick: () => asking.close() })),
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (sure.disabled) return;
    try {
      await busy(sure, work);
      asking.close();
    } catch (error) {
      replace(out, problem(error));
    }
  });
  const asking = dialog({ title, closing: shellT('close') }, form);
  if (word) typed.focus();
  return asking;
}

export const CONFIRM = () => t('confirm.word');

// A link that saves a file; the key goes along with the request, so it cannot be a plain link.
export function save(blob, name) {
  const href = URL.createObjectURL(blob);
  const link = h('a', { href, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

export function size(bytes) {
  const [unit, by] = bytes < 1000 ? ['B', 1] : bytes < 1e6 ? ['kB', 1e3] : ['MB', 1e6];
  return `${format.number(bytes / by, by > 1 ? 1 : 0)}\u00a0${unit}`;
}
