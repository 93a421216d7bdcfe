// The memories: all of them, what answers a question and why, and those that were forgotten.
import { MIN_RELEVANCE } from '../api.js';
import * as format from '../format.js';
import { language, speaking } from '../language.js';
import { badge, busy, button, empty, field, h, icon, notice, replace, skeleton, svg, tabs } from '../parts.js';
import { kindName, kindTyped, speakerName } from '../names.js';
import { pageHead, problem, t as shellT } from '../shell.js';
import { signalBars } from '../signals.js';
import words from '../words/memories.js';
import { openMemory } from './memory.js';

const t = speaking(words);
const PAGE = 30;
const FOUND = 20;
const FILTERS = ['kind', 'speaker', 'session', 'as_of'];

export function show(root, app, where) {
  const list = h('div', { class: 'stack', id: 'memories-list', tabindex: -1, role: 'region', 'aria-label': t('title') });
  const form = searchForm(app);
  const tabOf = (query) => (query.get('tab') === 'forgotten' ? 'forgotten' : 'all');
  const choose = tabs({
    label: t('tabs'),
    options: ['all', 'forgotten'].map((tab) => [tab, t(`tab.${tab}`)]),
    value: tabOf(where.query),
    onchange: (tab) => app.go('memories', { ...form.filters(), tab: tab === 'all' ? null : tab }),
  });
  root.append(pageHead(t('title'), t('lead')), h('div', { class: 'stack' }, form.node, choose, list));
  const known = new Map(); // Those of the list, by their ids: what was forgotten can be seen nowhere else.
  let current = '';
  let drawer = null;
  let left = null; // Which card was opened or changed last, and where it stood.
  let earlier = new AbortController();

  async function load() {
    // An answer to an earlier question must not come late and take the place of this one's.
    earlier.abort();
    earlier = new AbortController();
    const now = { ...app, signal: AbortSignal.any([app.signal, earlier.signal]) };
    const [asked, forgotten] = JSON.parse(current);
    known.clear();
    if (asked.q) await recall(list, now, asked);
    else await listed(list, now, { asked, forgotten, known, changed });
    refocus();
  }

  function changed(id) {
    remember(id);
    load();
  }

  function remember(id) {
    const at = [...list.querySelectorAll('.memory')].findIndex((one) => one.dataset.id === id);
    if (at >= 0) left = { id, at };
  }

  // What had the focus may be gone with the old list: then it goes to the same memory, or to the one in its place.
  function refocus() {
    const lost = [null, document.body, list].includes(document.activeElement);
    if (!left || !lost || document.querySelector('dialog[open]') || list.querySelector('.skeleton')) return;
    const cards = [...list.querySelectorAll('.memory')];
    const card = cards.find((one) => one.dataset.id === left.id) ?? cards[Math.min(left.at, cards.length - 1)];
    (card?.querySelector('.text') ?? list).focus({ preventScroll: Boolean(card) });
  }

  function open(id) {
    const before = drawer;
    remember(id);
    const forgotten = JSON.parse(current)[1] ? known.get(id) : null;
    const opened = openMemory(app, id, { forgotten, onchange: load, onclose: () => (opened === drawer && back(), setTimeout(refocus)) });
    drawer = opened;
    before?.close();
  }

  function moved(to) {
    const asked = form.take(to.query);
    choose.hidden = Boolean(asked.q);
    choose.choose(tabOf(to.query));
    const key = JSON.stringify([asked, tabOf(to.query) === 'forgotten']);
    if (key !== current) {
      current = key;
      left = null;
      load();
    }
    if (to.rest[0]) open(to.rest[0]);
    else drawer?.close();
    if (to.query.get('focus')) {
      form.focus();
      app.go('memories', {}, { quiet: true });
    }
  }

  const hashQuery = () => new URLSearchParams(location.hash.split('?')[1] ?? '');
  // Closing the drawer by hand takes the memory out of the address; leaving by the address has done so already.
  const back = () => location.hash.startsWith('#/memories/') && app.go('memories', Object.fromEntries(hashQuery()));
  moved(where);
  return { moved, leave: () => drawer?.close() };
}

function searchForm(app) {
  const query = h('input', { type: 'search', 'aria-label': t('search.label'), placeholder: t('search.hint'), data: { search: '' }, autocomplete: 'off' });
  const inputs = {
    kind: h('input', { placeholder: t('kind.hint') }),
    speaker: h('input', {}),
    session: h('input', {}),
    as_of: h('input', { type: 'datetime-local' }),
  };
  const opener = button({ label: t('filters'), icon: 'filter', 'aria-expanded': 'false' });
  const clear = h('a', { class: 'button quiet small', href: '#/memories' }, t('search.clear'));
  const more = h(
    'div',
    { class: 'card fields', hidden: true },
    FILTERS.map((name) => field(t(name), inputs[name], name === 'as_of' ? { hint: t('as_of.hint') } : {})),
  );
  const open = (on) => {
    more.hidden = !on;
    opener.setAttribute('aria-expanded', on);
  };
  opener.addEventListener('click', () => open(more.hidden));
  const values = () => Object.fromEntries(FILTERS.map((name) => [name, inputs[name].value.trim()]));
  const node = h(
    'form',
    { class: 'stack', role: 'search' },
    h(
      'div',
      { class: 'search' },
      h('div', { class: 'box' }, icon('search'), query, h('kbd', { 'aria-hidden': 'true' }, '/')),
      h('button', { class: 'button primary', type: 'submit' }, t('search.go')),
      opener,
    ),
    more,
  );
  node.addEventListener('submit', (event) => {
    event.preventDefault();
    const tab = query.value.trim() ? null : new URLSearchParams(location.hash.split('?')[1] ?? '').get('tab');
    app.go('memories', { q: query.value.trim(), ...values(), tab });
  });
  const take = (said) => {
    query.value = said.get('q') ?? '';
    FILTERS.forEach((name) => (inputs[name].value = said.get(name) ?? ''));
    const used = FILTERS.filter((name) => inputs[name].value).length;
    opener.lastChild.textContent = used ? t('filters.count', { count: used }) : t('filters');
    // On a phone the open filters would push every answer off the screen.
    if (used && innerWidth > 620) open(true);
    clear.hidden = !query.value && !used;
    node.firstChild.append(clear);
    return { q: query.value, ...values() };
  };
  return { node, take, filters: values, focus: () => query.focus() };
}

async function recall(list, app, wanted, least = MIN_RELEVANCE) {
  const { q, kind, speaker, session, as_of: moment } = wanted;
  replace(list, skeleton(4, 'block'));
  const asked = { query: q, limit: FOUND, language: language(), min_relevance: least };
  if (kind) asked.kinds = kindsOf(kind);
  if (speaker) asked.speaker = speaker;
  if (session) asked.session = session;
  if (moment) asked.as_of = new Date(moment).toISOString();
  try {
    const { hits, why } = await app.api.post('/v1/recall', asked, app.signal);
    const everything = least > 0 && hits.length < FOUND && moreButton(() => recall(list, app, wanted, 0), t('everything'));
    replace(
      list,
      moment && notice('plain', t('as_of.note', { time: format.dateTime(asked.as_of) })),
      hits.length
        ? [h('p', { class: 'muted', role: 'status' }, t('found', { count: hits.length })), hits.map((hit, at) => card(hit, { why: why[at] })), everything]
        : h('div', { role: 'status' }, empty({ icon: 'search', title: t('missed.title'), text: t('missed.text'), action: everything })),
    );
  } catch (error) {
    if (error.name !== 'AbortError') replace(list, problem(error, () => recall(list, app, wanted, least)));
  }
}

const kindsOf = (text) => text.split(/[\s,，、]+/).filter(Boolean).map(kindTyped);

// The filters as the list takes them; null when there are none.
function filterOf({ kind, speaker, session }) {
  const inner = (name, value) => ({ $path: ['memwell', name], $eq: value });
  const all = [kind && { '@kind': { $in: kindsOf(kind) } }, speaker && inner('speaker', speaker), session && inner('session', session)].filter(Boolean);
  return all.length ? JSON.stringify(all.length > 1 ? { $and: all } : all[0]) : null;
}

async function listed(list, app, given, cursor = null) {
  const { asked, forgotten, known, changed } = given;
  const where = filterOf(asked);
  if (!cursor) replace(list, skeleton(5, 'block'));
  try {
    const page = await app.api.get('/v1/memories', { limit: PAGE, cursor, forgotten: forgotten || null, where }, app.signal);
    page.items.forEach((one) => known.set(one.id, one));
    const cards = page.items.map((one) => card(one, { back: forgotten && backButton(app, one, changed) }));
    if (!cursor) replace(list, asked.as_of && notice('plain', t('as_of.needs')), cards.length ? cards : nothing(app, forgotten, where));
    else list.lastChild.replaceWith(...cards);
    if (page.next) list.append(moreButton(() => listed(list, app, given, page.next)));
    if (cursor) cards[0]?.querySelector('.text').focus({ preventScroll: true });
  } catch (error) {
    if (error.name !== 'AbortError') replace(list, problem(error, () => listed(list, app, given)));
  }
}

function moreButton(work, label = shellT('more')) {
  const made = button({ label });
  made.addEventListener('click', () => busy(made, work));
  return h('div', { class: 'row' }, made);
}

function nothing(app, forgotten, where) {
  if (where) return empty({ icon: 'filter', title: t('filtered.title'), text: t('filtered.text') });
  if (forgotten) return empty({ icon: 'undo', title: t('forgotten.none.title'), text: t('forgotten.none.text') });
  const action = app.can('write') && h('a', { class: 'button primary', href: '#/start' }, t('none.action'));
  return empty({ icon: 'memories', title: t('none.title'), text: t('none.text'), action });
}

function backButton(app, memory, changed) {
  const made = button({ label: t('back'), icon: 'undo', small: true });
  made.addEventListener('click', async () => {
    try {
      await app.api.act(`/v1/memories/${encodeURIComponent(memory.id)}/undo`);
      app.toast(t('restored'));
      changed(memory.id);
    } catch (error) {
      app.failed(error);
    }
  });
  return app.gated(made, 'write');
}

function card(memory, { why, back } = {}) {
  const open = () => {
    const query = location.hash.split('?')[1];
    location.hash = `#/memories/${encodeURIComponent(memory.id)}${query ? `?${query}` : ''}`;
  };
  return h(
    'article',
    { class: `memory${why === undefined ? '' : ' hit'}`, data: { id: memory.id } },
    h('button', { type: 'button', class: 'text', onclick: open }, memory.text),
    meta(memory, why !== undefined),
    back && h('div', { class: 'row' }, back),
    why !== undefined && explained(memory, why),
  );
}

function explained(memory, why) {
  return h(
    'div',
    { class: 'explained' },
    h('p', { class: 'why' }, h('b', {}, t('why'), ' '), why),
    signalBars(memory.signals, { ...memory, why }),
  );
}

export function meta(memory, scored = false) {
  return h(
    'div',
    { class: 'meta' },
    scored && h('span', { class: 'score' }, t('relevance', { share: format.percent(memory.relevance) })),
    scored && h('span', {}, t('score', { score: format.exact(memory.score) })),
    h('time', { datetime: memory.time, title: format.dateTime(memory.time, true) }, format.ago(memory.time)),
    memory.speaker && h('span', {}, speakerName(memory.speaker)),
    memory.session && h('span', {}, memory.session),
    memory.kind !== 'memory' && badge(kindName(memory.kind)),
    importance(memory.importance),
    memory.pinned && h('span', { class: 'badge accent' }, icon('pin', 13), t('pinned')),
    (memory.flags ?? []).filter((flag) => flag !== 'superseded').map((flag) => badge(flag, 'warn')),
    memory.superseded_by && h('a', { class: 'badge warn', href: `#/memories/${encodeURIComponent(memory.superseded_by)}`, title: t('superseded.hint') }, t('superseded')),
    memory.evidence?.length > 0 && h('span', { class: 'row', title: t('evidence') }, icon('link', 14), String(memory.evidence.length)),
  );
}

function importance(value) {
  const told = t('importance', { value: format.number(value, 2) });
  return h(
    'span',
    { class: 'weight', title: told },
    svg(
      'svg',
      { role: 'img', 'aria-label': told },
      svg('rect', { class: 'track', width: '100%', height: 6, rx: 3 }),
      svg('rect', { class: 'bar-for', width: `${100 * Math.min(Math.max(value, 0), 1)}%`, height: 6, rx: 3 }),
    ),
  );
}
