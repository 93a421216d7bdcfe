// The audit log: what was done or refused, entry upon entry, each holding the digest of the one before.
import * as format from '../format.js';
import { speaking } from '../language.js';
import { badge, busy, button, empty, h, icon, notice, replace, skeleton, table } from '../parts.js';
import { own } from '../more.js';
import { shortId } from '../names.js';
import { copyButton, problem, t as shellT } from '../shell.js';
import words from '../words/keys.js';

const t = speaking(words);
const PAGE = 50;
const SHOWN = 4;
const SCOPES = ['read', 'write', 'erase', 'admin', 'spaces'];

export async function allKeys(app) {
  const all = [];
  let cursor = null;
  do {
    const page = await app.api.get('/v1/keys', { limit: 500, ...(cursor && { cursor }) }, app.signal);
    all.push(...page.items);
    cursor = page.next;
  } while (cursor);
  return all;
}

export function log(body, app) {
  const list = h('section', { class: 'card stack', id: 'log' }, skeleton(5));
  const out = h('div', { 'aria-live': 'polite' });
  const verify = button({ label: t('verify'), icon: 'shield' });
  verify.addEventListener('click', async () => {
    try {
      replace(out, verdict(await busy(verify, () => app.api.get('/v1/log/verify', {}, app.signal))));
    } catch (error) {
      if (error.name !== 'AbortError') replace(out, problem(error));
    }
  });
  replace(body, h('div', { class: 'row' }, verify, h('span', { class: 'muted' }, t('verify.hint'))), out, list);
  const state = { all: [], next: null, names: null };
  load();

  async function load(cursor = null) {
    try {
      // An entry names a key by its id; people know it by its name.
      state.names ??= new Map((await allKeys(app)).map((key) => [key.id, key.name]));
      const page = await app.api.get('/v1/log', { limit: PAGE, cursor }, app.signal);
      state.all = [...state.all, ...page.items];
      state.next = page.next;
      draw();
    } catch (error) {
      if (error.name !== 'AbortError') replace(list, problem(error, () => load(cursor)));
    }
  }

  function draw() {
    if (!state.all.length) return void replace(list, empty({ icon: 'shield', title: t('log.none'), text: t('log.none.text') }));
    const more = state.next && button({ label: shellT('more') });
    if (more) {
      more.addEventListener('click', async () => {
        await busy(more, () => load(state.next));
        // The button went with the old table.
        (list.querySelector(':scope > .row button') ?? list.querySelector('.table-box'))?.focus({ preventScroll: true });
      });
    }
    replace(list, table(['number', 'time', 'action', 'outcome', 'key', 'targets', 'detail'].map((key) => t(`log.${key}`)), state.all.map((one) => row(one, state.names)), { label: t('tab.log'), classes: 'wide cards' }), more && h('div', { class: 'row' }, more));
  }
}

// What a newer service does, and this page has no words for, is named as the service names it.
function actionOf(name) {
  return `action.${name}` in words.en ? h('span', { title: name, data: { action: name } }, t(`action.${name}`)) : h('code', { data: { action: name } }, name);
}

// A target is an id, or the path of a space as JSON.
function targetOf(text) {
  try {
    const path = text.startsWith('[') && JSON.parse(text);
    if (Array.isArray(path)) return own(path.join(' / '));
  } catch {
    // Then it is an id that happens to begin like one.
  }
  return shortId(text);
}

function detailOf([name, value]) {
  const scopes = () => format.list(String(value).split(' ').map((scope) => (SCOPES.includes(scope) ? shellT(`scope.${scope}`) : scope)));
  const told = name === 'operation' && `action.${value}` in words.en ? t(`action.${value}`) : name === 'write' ? t(value ? 'yes' : 'no') : name === 'scopes' ? scopes() : typeof value === 'number' ? format.number(value) : value;
  return `detail.${name}` in words.en ? t(`detail.${name}`, { value: told }) : `${name} ${told}`;
}

function row(one, names) {
  const targets = one.targets.slice(0, SHOWN).map((target, at) => [at > 0 && ' ', targetOf(target)]);
  const detail = Object.entries(one.detail ?? {}).map(detailOf).join(', ');
  return [
    String(one.number),
    format.dateTime(one.time, true),
    actionOf(one.action),
    badge(t(`outcome.${one.outcome}`), one.outcome === 'done' ? '' : 'bad'),
    h('div', {}, keyOf(one.key, names), one.space && h('div', { class: 'muted small' }, own(one.space.join(' / ')))),
    targets.length === 0 ? '' : h('span', { class: 'small' }, targets, one.targets.length > SHOWN && [' ', t('log.more', { count: one.targets.length - SHOWN })]),
    detail ? h('span', { class: 'small' }, own(detail)) : '',
  ];
}

function keyOf(id, names) {
  if (!id) return t('log.nobody');
  const name = names.get(id);
  return name ? h('span', { title: id }, own(name)) : shortId(id);
}

function verdict({ entries, ok, broken_at: broken, head }) {
  if (!ok) return notice('error', h('p', {}, broken == null ? t('verify.cut') : t('verify.broken', { number: broken })), h('p', { class: 'muted small' }, t('verify.fits', { count: format.number(entries) })));
  return h(
    'div',
    { class: 'notice' },
    icon('check'),
    h('div', {}, h('p', {}, t('verify.ok', { count: format.number(entries) })), h('p', { class: 'row small' }, h('code', {}, head), copyButton(head)), h('p', { class: 'muted small' }, t('verify.head'))),
  );
}
