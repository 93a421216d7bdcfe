// The memories: one table of all of them, sorted and narrowed; what answers a question, and why; and what was forgotten.
import * as format from '../format.js';
import { speaking } from '../language.js';
import { busy, button, choice, empty, h, icon, replace, skeleton } from '../parts.js';
import { followed } from '../jobs.js';
import { confirmed, highlighted, own } from '../more.js';
import { kindName, speakerName } from '../names.js';
import { pageHead, problem, t as shellT } from '../shell.js';
import words from '../words/memories.js';
import { adding, bulk } from './bulk.js';
import { NARROWING, filterBar, narrowed, narrowedFilter } from './facets.js';
import { openMemory } from './memory.js';
import { recalled } from './recalled.js';

const t = speaking(words);
const PAGE = 60;
const TYPING_MS = 140;
const FAR = 60;
const BEFORE = 24;
// Where a column tells nothing.
const BLANK = {
  speaker: (one) => !one.speaker,
  session: (one) => !one.session,
  kind: (one) => one.kind === 'memory',
  metadata: (one) => !Object.keys(one.metadata ?? {}).length,
};
// What each column sorts by; a column without it cannot be sorted.
const COLUMNS = [['text'], ['speaker', 'speaker'], ['session', 'session'], ['kind', 'kind'], ['metadata'], ['weight', 'importance'], ['said', 'time']];

export function show(root, app, where) {
  const state = { query: new URLSearchParams(), known: new Map(), opened: null, drawer: null, earlier: new AbortController() };
  const list = h('div', { class: 'stack', id: 'memories-list', tabindex: -1, role: 'region', 'aria-label': t('title') });
  const count = h('span', { class: 'muted number', role: 'status' });
  const add = app.gated(button({ label: t('add'), icon: 'plus', small: true, onclick: () => adding(app, changed) }), 'write');
  const which = choice({ label: t('tabs'), small: true, value: 'all', options: ['all', 'forgotten'].map((tab) => [tab, t(`tab.${tab}`)]), onchange: (tab) => app.go('memories', tab === 'all' ? {} : { tab }) });
  const search = searchBox();
  const filters = filterBar({ app, onchange: (changes) => go(changes) });
  const chosen = bulk({ app, onchange: changed });
  const eraseAll = app.gated(button({ label: t('erase.all'), icon: 'trash', kind: 'danger', small: true, onclick: () => erasing() }), 'erase');
  eraseAll.hidden = true;
  const head = pageHead(t('title'), null, which, eraseAll, add);
  head.firstChild.append(count);
  head.classList.add('tight');
  root.append(head, h('div', { class: 'memories' }, search.node, filters.node, list, chosen.node));

  function go(changes, options) {
    const now = Object.fromEntries([...new Set(state.query.keys())].map((name) => [name, state.query.getAll(name)]));
    app.go('memories', { ...now, ...changes }, options);
    if (options?.quiet) moved({ rest: [], query: hashQuery() });
  }

  function searchBox() {
    const input = h('input', { type: 'search', 'aria-label': t('search.label'), placeholder: t('search.hint'), data: { search: '' }, autocomplete: 'off' });
    const ask = h('button', { class: 'button primary', type: 'submit', title: t('search.go.hint') }, t('search.go'));
    const clear = button({ label: t('search.clear'), kind: 'quiet', onclick: () => app.go('memories') });
    const node = h('form', { class: 'search', role: 'search' }, h('div', { class: 'box' }, icon('search'), input, h('kbd', { 'aria-hidden': 'true' }, '/')), ask, clear);
    let timer = null;
    // While it is typed the table is narrowed; a question is asked with Enter.
    input.addEventListener('input', () => {
      clearTimeout(timer);
      if (state.query.get('q') && input.value.trim()) return;
      timer = setTimeout(() => go({ text: input.value.trim(), q: null, tab: null }, { quiet: true }), TYPING_MS);
    });
    node.addEventListener('submit', (event) => {
      event.preventDefault();
      clearTimeout(timer);
      if (input.value.trim()) go({ q: input.value.trim(), text: null, tab: null });
      else go({ q: null, text: null });
    });
    return { node, input, clear };
  }

  async function load() {
    // An answer to an earlier question must not come late and take the place of this one's.
    state.earlier.abort();
    state.earlier = new AbortController();
    const now = { ...app, signal: AbortSignal.any([app.signal, state.earlier.signal]) };
    state.known.clear();
    state.total = 0;
    eraseAll.hidden = true;
    chosen.clear();
    try {
      if (state.query.get('q')) await Promise.all([recalled({ app: now, list, count, query: state.query, known: state.known }), counted(now)]);
      else if (state.query.get('tab') === 'forgotten') await forgotten(now);
      else await browsed(now);
    } catch (error) {
      if (error.name !== 'AbortError') replace(list, problem(error, load));
      return;
    }
    refocus();
  }

  // Who comes with a question has not seen the table, which counts the values of the fields.
  async function counted(now) {
    if (filters.known()) return;
    const { facets } = await app.api.get('/v1/browse', { limit: 1, facets: 'true' }, now.signal);
    filters.take(state.query, facets);
  }

  async function browsed(now, offset = 0) {
    const { query } = state;
    const sort = query.get('sort') ?? 'time';
    const asked = { ...narrowed(query), text: query.get('text'), sort, descending: query.get('up') ? 'false' : 'true', limit: PAGE, offset, facets: offset ? null : 'true' };
    if (!offset && !list.querySelector('table')) replace(list, skeleton(8));
    const page = await app.api.get('/v1/browse', asked, now.signal);
    page.items.forEach((one) => state.known.set(one.id, one));
    if (!offset) {
      filters.take(query, page.facets);
      count.textContent = page.total == null ? '' : t('count', { count: format.number(page.total) });
      state.total = page.total;
      // Words are no filter: what is only looked for by them is chosen by hand.
      eraseAll.hidden = !page.items.length || query.has('text') || !NARROWING.test(query.toString());
      replace(list, page.items.length ? sheet(page.items) : nothing());
    } else {
      list.querySelector('tbody').append(...page.items.map((one) => row(one)));
      list.querySelector('.more')?.remove();
    }
    tidy();
    const shown = offset + page.items.length;
    if (page.total == null ? page.items.length === PAGE : shown < page.total) list.append(more(() => browsed(now, shown)));
  }

  // Whatever fits the filters, also what is not shown.
  function erasing() {
    const where = narrowedFilter(state.query);
    confirmed({
      title: t('erase.all.title'),
      text: t('erase.all.text', { count: state.total }),
      word: t('erase.word'),
      go: t('erase'),
      work: async () => {
        const { result } = await followed(app, await app.api.post('/v1/erase-by', { where }));
        app.toast(t('erased', { what: t('erased.memories', { count: result.memories }) }));
        changed();
      },
    });
  }

  async function forgotten(now, cursor = null) {
    const page = await app.api.get('/v1/memories', { limit: PAGE, cursor, forgotten: true }, now.signal);
    page.items.forEach((one) => state.known.set(one.id, one));
    filters.take(state.query, []);
    count.textContent = '';
    const rows = page.items.map((one) => row(one, backButton(one)));
    if (!cursor) replace(list, rows.length ? sheet(page.items, rows) : empty({ icon: 'undo', title: t('forgotten.none.title'), text: t('forgotten.none.text') }));
    else {
      list.querySelector('.more')?.remove();
      list.querySelector('tbody').append(...rows);
    }
    tidy();
    if (page.next) list.append(more(() => forgotten(now, page.next)));
  }

  function sheet(items, rows = items.map((one) => row(one))) {
    const sorted = state.query.get('sort') ?? 'time';
    const all = h('input', { type: 'checkbox', 'aria-label': t('select.all') });
    all.addEventListener('change', () => list.querySelectorAll('td.pick input').forEach((one) => one.checked !== all.checked && one.click()));
    const head = ([name, sort]) => {
      const way = sort === sorted ? (state.query.get('up') ? 'ascending' : 'descending') : null;
      const sign = way && h('span', { 'aria-hidden': 'true' }, way === 'ascending' ? ' ↑' : ' ↓');
      const told = sort && state.query.get('tab') !== 'forgotten' ? h('button', { type: 'button', onclick: () => sortBy(sort) }, t(name), sign) : t(name);
      return h('th', { scope: 'col', class: `c-${name}`, 'aria-sort': way }, told);
    };
    return h('div', { class: 'sheet' }, h('table', { class: 'dense', 'aria-label': t('title') }, h('thead', {}, h('tr', {}, h('th', { class: 'pick', scope: 'col' }, all), COLUMNS.map(head))), h('tbody', {}, rows)));
  }

  function sortBy(sort) {
    const same = (state.query.get('sort') ?? 'time') === sort;
    // Names begin at A, numbers and times at the highest.
    const up = same ? !state.query.get('up') : !['time', 'importance'].includes(sort);
    go({ sort: sort === 'time' ? null : sort, up: up ? 1 : null }, { quiet: true });
    list.querySelector('th[aria-sort] button')?.focus();
  }

  function row(memory, back = null) {
    const box = h('input', { type: 'checkbox', 'aria-label': t('select.one') });
    box.addEventListener('change', () => chosen.pick(memory, box));
    const own_ = Object.entries(memory.metadata ?? {});
    const made = h(
      'tr',
      { class: 'memory', data: { id: memory.id } },
      h('td', { class: 'pick' }, box),
      h('td', { class: 'c-text' }, h('a', { class: 'text', href: addressOf(memory.id), data: { row: '' }, translate: 'no' }, memory.pinned && icon('pin', 13), found(memory.text)), back),
      h('td', { class: 'c-speaker' }, own(speakerName(memory.speaker ?? ''))),
      h('td', { class: 'c-session' }, own(memory.session ?? '')),
      h('td', { class: 'c-kind' }, kindName(memory.kind)),
      h('td', { class: 'c-metadata' }, own_.map(([name, value]) => h('span', { title: name, translate: 'no' }, typeof value === 'object' ? JSON.stringify(value) : value === true ? name : String(value)))),
      h('td', { class: 'c-weight' }, format.exact(memory.importance, 2)),
      h('td', { class: 'c-said' }, h('time', { datetime: memory.time, title: format.dateTime(memory.time, true) }, format.date(memory.time))),
    );
    made.addEventListener('click', (event) => {
      if (!event.target.closest('a, button, input, label') && !getSelection().toString()) location.hash = addressOf(memory.id);
    });
    return made;
  }

  // With the words that are looked for marked; where the first one stands far behind, the row begins shortly before it.
  function found(text) {
    const pieces = (state.query.get('text') ?? '').split(/\s+/).filter(Boolean);
    if (!pieces.length) return text;
    const first = Math.min(...pieces.map((piece) => text.toLowerCase().indexOf(piece.toLowerCase())));
    return highlighted(first > FAR ? `…${text.slice(first - BEFORE)}` : text, pieces);
  }

  function addressOf(id) {
    const query = state.query.toString();
    return `#/memories/${encodeURIComponent(id)}${query ? `?${query}` : ''}`;
  }

  function backButton(memory) {
    const made = button({ label: t('back'), icon: 'undo', small: true });
    made.addEventListener('click', async () => {
      try {
        await app.api.post(`/v1/memories/${encodeURIComponent(memory.id)}/undo`, { version: memory.version });
        app.toast(t('restored'));
        changed(memory.id);
      } catch (error) {
        app.failed(error);
      }
    });
    return app.gated(made, 'write');
  }

  function more(work) {
    const made = button({ label: shellT('more') });
    made.addEventListener('click', () => busy(made, work).catch(app.failed));
    return h('div', { class: 'row more' }, made);
  }

  function nothing() {
    if (state.query.get('text') || NARROWING.test(state.query.toString())) return empty({ icon: 'filter', title: t('filtered.title'), text: t(reversed() ? 'filtered.reversed' : 'filtered.text') });
    const action = app.can('write') && h('a', { class: 'button primary', href: '#/start' }, t('none.action'));
    return empty({ icon: 'memories', title: t('none.title'), text: t('none.text'), action });
  }

  const reversed = () => state.query.get('since') && state.query.get('until') && state.query.get('since') > state.query.get('until');

  // Columns in which nothing is told leave their room to the text; what the table is sorted by stays.
  function tidy() {
    const all = [...state.known.values()];
    for (const [name, isBlank] of Object.entries(BLANK)) list.querySelector('table.dense')?.classList.toggle(`no-${name}`, name !== state.query.get('sort') && all.every(isBlank));
  }

  function changed(id) {
    if (id) remember(id);
    load();
  }

  function remember(id) {
    const at = [...list.querySelectorAll('.memory')].findIndex((one) => one.dataset.id === id);
    if (at >= 0) state.opened = { id, at };
  }

  // What had the focus may be gone with the old list: then it goes to the same memory, or to the one in its place.
  function refocus() {
    const lost = [null, document.body, list].includes(document.activeElement);
    if (!state.opened || !lost || document.querySelector('dialog[open]') || list.querySelector('.skeleton')) return;
    const rows = [...list.querySelectorAll('.memory')];
    const found = rows.find((one) => one.dataset.id === state.opened.id) ?? rows[Math.min(state.opened.at, rows.length - 1)];
    (found?.querySelector('.text') ?? list).focus({ preventScroll: Boolean(found) });
  }

  function open(id) {
    const before = state.drawer;
    remember(id);
    const known = state.known.get(id);
    const opened = openMemory(app, id, {
      forgotten: state.query.get('tab') === 'forgotten' ? known : null,
      hit: state.query.get('q') ? known : null,
      onchange: load,
      onclose: () => (opened === state.drawer && back(), setTimeout(refocus)),
    });
    state.drawer = opened;
    before?.close();
  }

  let current = null;
  function moved(to) {
    const query = new URLSearchParams(to.query);
    const wish = ['focus', 'add'].find((name) => query.get(name));
    if (wish) {
      // What is asked for once does not stay in the address.
      query.delete(wish);
      app.go('memories', Object.fromEntries(query), { quiet: true });
    }
    if (query.toString() !== current) {
      current = query.toString();
      state.query = query;
      state.opened = null;
      const typed = query.get('q') ?? query.get('text') ?? '';
      if (search.input.value.trim() !== typed) search.input.value = typed;
      search.clear.hidden = !current;
      which.querySelector(`input[value=${query.get('tab') === 'forgotten' ? 'forgotten' : 'all'}]`).checked = true;
      filters.take(query);
      load();
    }
    if (to.rest[0]) open(to.rest[0]);
    else state.drawer?.close();
    if (wish === 'focus') search.input.focus();
    if (wish === 'add') adding(app, changed);
  }

  const hashQuery = () => new URLSearchParams(location.hash.split('?')[1] ?? '');
  // Closing the drawer by hand takes the memory out of the address; leaving by the address has done so already.
  const back = () => location.hash.startsWith('#/memories/') && (location.hash = `#/memories${state.query.size ? `?${state.query}` : ''}`);
  moved(where);
  return { moved, leave: () => state.drawer?.close() };
}

