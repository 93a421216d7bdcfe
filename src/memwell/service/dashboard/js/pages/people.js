// People and things: a list of names, and of the chosen one what is known, whom it is connected with, when, and what used it.
import { path } from '../api.js';
import * as format from '../format.js';
import { language, speaking } from '../language.js';
import { badge, busy, button, dialog, empty, field, h, icon, notice, replace, skeleton, svg, table } from '../parts.js';
import { bars, began, evidence, isOver, own, person, relation, short, since, until } from '../more.js';
import { pageHead, problem, t as shellT } from '../shell.js';
import { strip } from '../strip.js';
import words from '../words/people.js';
import { egoGraph } from './ego.js';

const t = speaking(words);
const SHOWN = 10;
const LISTED = 8;
const MONTHS = 18;
const RECEIPTS = 200;
const USER = 'user';

export function show(root, app, where) {
  const list = h('div', { class: 'side-list' }, skeleton(6));
  const filter = h('input', { type: 'search', 'aria-label': t('filter'), placeholder: t('filter'), autocomplete: 'off', data: { search: '' } });
  const main = h('section', { class: 'pane-main', 'aria-label': t('profile') });
  const form = h('form', { class: 'search', role: 'search' }, h('div', { class: 'box' }, icon('search'), filter));
  const panes = h('div', { class: 'panes' }, h('section', { class: 'pane-side', 'aria-label': t('names') }, form, list), main);
  const head = pageHead(t('title'), t('lead'));
  root.append(head, panes);
  let subjects = null;
  let shown = null;
  filter.addEventListener('input', () => subjects && draw());
  // A thing that only others speak of is in no list, and can be asked for all the same.
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const [first] = fitting();
    const said = filter.value.trim();
    if (said) app.go(`people/${encodeURIComponent(first && first.name.toLowerCase().startsWith(said.toLowerCase()) ? first.name : said)}`);
  });

  async function load(to) {
    try {
      ({ items: subjects } = await app.api.get('/v1/profiles', {}, app.signal));
      panes.classList.toggle('bare', !subjects.length);
      draw();
      moved(to);
    } catch (error) {
      if (error.name !== 'AbortError') replace(list, problem(error, () => load(to)));
    }
  }

  function fitting() {
    const said = filter.value.trim().toLowerCase();
    return (subjects ?? []).filter((one) => one.name.toLowerCase().includes(said) || person(one.name).includes(said));
  }

  function draw() {
    const fits = fitting();
    const said = filter.value.trim();
    replace(
      list,
      !subjects.length && h('p', { class: 'muted' }, t('none')),
      subjects.length > 0 && !fits.length && h('p', { class: 'muted' }, t('filtered'), ' ', h('a', { href: `#/people/${encodeURIComponent(said)}` }, t('ask', { name: said }))),
      h('ul', {}, fits.slice(0, 300).map((one) => h('li', {}, entry(one, shown)))),
    );
  }

  function moved(to) {
    if (!subjects) return;
    panes.classList.toggle('open', Boolean(to.rest[0]));
    // On a wide screen there is room for the best known from the beginning.
    const name = to.rest[0] ?? subjects[0]?.name;
    if (!name) return void replace(main, nothing(app));
    if (name !== shown) one(main, app, (shown = name), new Set(subjects.map((each) => each.name.toLowerCase())));
    draw();
  }

  load(where);
  return { moved };
}

function entry({ name, facts }, shown) {
  return h('a', { href: `#/people/${encodeURIComponent(name)}`, data: { row: '' }, 'aria-current': name === shown ? 'true' : null }, h('strong', {}, own(person(name))), h('span', { class: 'muted small' }, t('facts', { count: facts })));
}

function nothing(app) {
  const action = app.can('write') && h('a', { class: 'button primary', href: '#/start' }, t('none.action'));
  return empty({ icon: 'person', title: t('none.title'), text: t('none.text'), action });
}

async function one(main, app, name, subjects) {
  const again = () => one(main, app, name, subjects);
  if (!main.dataset.name || main.dataset.name !== name) replace(main, skeleton(5, 'block'));
  main.dataset.name = name;
  try {
    const [{ items: facts }, { items: edges }] = await Promise.all([
      app.api.get('/v1/facts/history', { subject: name }, app.signal),
      app.api.get('/v1/graph', { start: name, depth: 1, limit: 60 }, app.signal),
    ]);
    if (main.dataset.name !== name) return;
    replace(main, head(name, facts), known(app, name, facts, again), relations(app, name, facts, edges, subjects), when(app, name, facts), prompts(app, facts), more(app, name));
  } catch (error) {
    if (error.name !== 'AbortError' && main.dataset.name === name) replace(main, problem(error, again));
  }
}

function head(name, facts) {
  const now = facts.filter((fact) => !isOver(fact)).length;
  return h(
    'div',
    { class: 'stack profile-head' },
    h('a', { class: 'button quiet small back', href: '#/people' }, t('back')),
    h('div', { class: 'row' }, h('h2', {}, own(person(name))), h('span', { class: 'muted' }, t('facts', { count: now }))),
  );
}

// What held on a day; without one what holds now. What is over can be shown too.
function known(app, name, facts, again) {
  const box = h('div', {});
  const day = h('input', { type: 'date', 'aria-label': t('day'), title: t('day.hint') });
  const past = h('input', { type: 'checkbox' });
  let held = (fact) => !isOver(fact);
  // What held on a day is for the service to say: a correction of today holds for that day, too.
  const look = async () => {
    const asked = day.value;
    box.setAttribute('aria-busy', 'true');
    try {
      const then = asked && (await app.api.get('/v1/facts', { subject: name, as_of: new Date(`${asked}T23:59`).toISOString() }, app.signal)).items;
      if (asked !== day.value) return;
      const ids = then && new Set(then.map((fact) => fact.id));
      held = ids ? (fact) => ids.has(fact.id) : (fact) => !isOver(fact);
      draw();
    } catch (error) {
      box.removeAttribute('aria-busy');
      if (error.name !== 'AbortError') replace(box, problem(error, look));
    }
  };
  const draw = () => {
    box.removeAttribute('aria-busy');
    const shown = facts.filter((fact) => past.checked || held(fact)).sort((one, other) => Number(held(other)) - Number(held(one)) || one.relation.localeCompare(other.relation) || Date.parse(began(other)) - Date.parse(began(one)));
    if (!shown.length) return void replace(box, h('p', { class: 'muted' }, t(day.value ? 'known.none' : 'history.none')));
    replace(
      box,
      table(
        ['how', 'what', 'from', 'until', 'sure', 'why', 'hands'].map((key) => t(key)),
        shown.map((fact) => [own(relation(fact.relation)), own(fact.object, held(fact) ? {} : { class: 'over' }), since(fact), isOver(fact) ? badge(until(fact)) : until(fact) || t('now'), format.percent(fact.confidence), evidence(app, fact.evidence.map((one) => one.record)), fact.retired_at ? '' : hands(app, fact, again)]),
        { label: t('attributes'), classes: 'known cards' },
      ),
    );
  };
  day.addEventListener('change', look);
  past.addEventListener('change', draw);
  draw();
  const over = facts.filter((fact) => isOver(fact)).length;
  const tools = h('div', { class: 'row' }, over > 0 && h('label', { class: 'check small' }, past, h('span', {}, t('past', { count: over }))), h('label', { class: 'row small', title: t('day.hint') }, h('span', { class: 'muted' }, t('day')), day));
  return h('section', { class: 'card stack', data: { part: 'known' } }, h('div', { class: 'row between' }, h('h3', {}, t('attributes')), facts.length > 0 && tools), box);
}

// The buttons that put a fact right by hand.
function hands(app, fact, again) {
  const said = { relation: relation(fact.relation), value: fact.object };
  const correct = button({ label: t('correct.one', said), icon: 'edit', kind: 'quiet', small: true, text: false, onclick: () => correcting(app, fact, again) });
  const retract = button({ label: t('retract.one', said), icon: 'close', kind: 'quiet', small: true, text: false, onclick: () => retracting(app, fact, again) });
  return h('span', { class: 'hands' }, app.gated(correct, 'write'), app.gated(retract, 'write'));
}

function correcting(app, fact, again) {
  const value = h('input', { value: fact.object, required: true, autocomplete: 'off', translate: 'no' });
  const day = h('input', { type: 'date' });
  asking(app, fact, again, {
    kind: 'correct',
    fields: [field(t('correct.value'), value), field(t('correct.since'), day, { hint: t('correct.since.hint') })],
    body: () => ({ former: fact.object, value: value.value.trim(), valid_from: moment(day) }),
    undo: ({ value: wrong }) => ({ former: wrong, value: fact.object }),
  });
  value.select();
}

function retracting(app, fact, again) {
  const day = h('input', { type: 'date' });
  asking(app, fact, again, {
    kind: 'retract',
    fields: [field(t('retract.ended'), day, { hint: t('retract.ended.hint') })],
    body: () => ({ value: fact.object, ended: moment(day) }),
    undo: () => ({ value: fact.object }),
  });
}

const moment = (day) => (day.value ? new Date(`${day.value}T00:00`).toISOString() : null);

// A window that sends one change of a fact, and shows the page again.
function asking(app, fact, again, { kind, fields, body, undo }) {
  const about = { subject: fact.subject, relation: fact.relation };
  // The value before is stated again, by hand: what was said of it stays over.
  const takeBack = (former) => app.api.post('/v1/facts/correct', { ...about, ...former }, app.signal).then(() => (app.toast(t('hands.undone')), again()), app.failed);
  const go = h('button', { class: 'button primary', type: 'submit' }, t(kind));
  const out = h('div', {});
  const form = h('form', { class: 'stack' }, h('p', {}, own(person(fact.subject)), ' – ', relation(fact.relation), ' – ', own(fact.object)), fields, out, h('div', { class: 'row' }, go, button({ label: shellT('cancel'), onclick: () => shown.close() })));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const asked = body();
    try {
      await busy(go, () => app.api.post(`/v1/facts/${kind}`, { ...about, ...asked }, app.signal));
      shown.close();
      app.toast(t(`${kind}.done`), { action: shellT('undo'), onaction: () => takeBack(undo(asked)) });
      again();
    } catch (error) {
      replace(out, problem(error));
    }
  });
  const shown = dialog({ title: t(`${kind}.title`), closing: shellT('close') }, form);
}

function relations(app, name, facts, edges, subjects) {
  const all = edges.map((edge) => edge.fact);
  if (!all.length) return null;
  return h('section', { class: 'card stack', data: { part: 'relations' } }, h('h3', {}, t('relations')), egoGraph({ app, name, facts: all, subjects }));
}

// When its memories were said, as the service counts all of them; facts that began and ended are marked.
function when(app, name, facts) {
  const section = h('section', { class: 'card stack', data: { part: 'when' } }, h('h3', {}, t('when')), skeleton(2));
  const list = h('div', { class: 'stack', 'aria-live': 'polite' });
  const marks = facts.flatMap((fact) => [{ kind: 'began', at: Date.parse(began(fact)) }, ...(isOver(fact) ? [{ kind: 'ended', at: Date.parse(fact.retired_at ?? fact.valid_to) }] : [])]).filter((mark) => Number.isFinite(mark.at));
  let which = name === USER ? {} : { chosen: JSON.stringify({ speaker: [name] }) };
  const ask = (range = {}) => app.api.get('/v1/activity', { ...which, ...range }, app.signal);
  const begin = async () => {
    let first = await ask();
    // Of a person who says nothing, and of a thing, it is told what mentions it.
    if (!first.total && name !== USER) {
      which = { text: name };
      first = await ask();
    }
    if (!first.total) return void section.remove();
    const drawn = strip({ app, first, marks, ask, onrange: told });
    replace(section, h('h3', {}, t(which.text ? 'when.mentioned' : 'when')), drawn.node, list);
    drawn.start();
  };
  const told = async (from, to) => {
    const range = { since: new Date(from).toISOString(), until: new Date(to).toISOString() };
    const { items, total } = await app.api.get('/v1/browse', { ...which, ...range, limit: LISTED }, app.signal).catch((error) => (app.failed(error), { items: [] }));
    const days = { since: dayOf(from), until: dayOf(to) };
    const narrowed = new URLSearchParams(which.text ? { text: name, ...days } : name === USER ? days : { speaker: name, ...days });
    replace(
      list,
      h('ul', { class: 'lines' }, items.map((memory) => h('li', {}, h('time', { class: 'muted small', datetime: memory.time }, format.date(memory.time)), h('a', { href: `#/memories/${encodeURIComponent(memory.id)}` }, own(short(memory.text)))))),
      total > items.length && h('p', {}, h('a', { href: `#/memories?${narrowed}` }, t('all', { count: format.number(total) }))),
    );
  };
  begin().catch((error) => error.name !== 'AbortError' && replace(section, h('h3', {}, t('when')), problem(error)));
  return section;
}

function dayOf(time) {
  const at = new Date(time);
  return `${at.getFullYear()}-${String(at.getMonth() + 1).padStart(2, '0')}-${String(at.getDate()).padStart(2, '0')}`;
}

// The newest prompts with a memory that a fact of theirs rests on.
function prompts(app, facts) {
  const ids = new Set(facts.flatMap((fact) => fact.evidence.map((one) => one.record)));
  const box = h('div', {}, skeleton(2));
  const tell = async () => {
    const { items: receipts } = await app.api.get('/v1/receipts', { limit: RECEIPTS }, app.signal);
    const used = receipts.map((receipt) => [receipt, (receipt.entered ?? []).filter((one) => one.kind === 'memory' && ids.has(one.id)).map((one) => one.id)]).filter(([, all]) => all.length);
    if (!used.length) return void replace(box, h('p', { class: 'muted' }, t('prompts.none')));
    replace(box, table(['prompt', 'tokens', 'thread', 'memories.used'].map((key) => t(key)), used.slice(0, 20).map(([receipt, all]) => [receipt.now ? h('time', { datetime: receipt.now, title: format.dateTime(receipt.now, true) }, format.ago(receipt.now)) : receipt.id, format.number(receipt.tokens), own(receipt.thread ?? ''), evidence(app, all)]), { label: t('prompts'), classes: 'cards' }));
  };
  tell().catch((error) => error.name !== 'AbortError' && replace(box, problem(error)));
  return h('section', { class: 'card stack', data: { part: 'prompts' } }, h('h3', {}, t('prompts')), box);
}

// Topics and moods are counted over every word that was said, which takes a while; so only on demand.
function more(app, name) {
  const box = h('div', { class: 'stack' });
  const details = h('details', { class: 'card' }, h('summary', {}, t('more')), box);
  details.addEventListener('toggle', async () => {
    if (!details.open || box.childElementCount) return;
    replace(box, skeleton(3));
    try {
      const profile = await app.api.get(path`/v1/profiles/${name}`, { language: language() }, app.signal);
      const found = [...about(app, profile), moods(app, profile)].filter(Boolean);
      replace(box, found.length ? found : notice('plain', t('history.none')));
    } catch (error) {
      if (error.name !== 'AbortError') replace(box, problem(error));
    }
  });
  return details;
}

function about(app, profile) {
  // A topic is also a word; it need not be told twice.
  const topics = new Set((profile.topics ?? []).map((one) => one.word));
  const kinds = [
    ['topics', profile.topics, 'word'],
    ['keywords', (profile.keywords ?? []).filter((one) => !topics.has(one.word)), 'word'],
    ['sessions.title', profile.by_session, 'name'],
  ].filter(([, all]) => all?.length);
  return kinds.map(([key, all, name]) => h('div', { class: 'stack' }, h('h3', {}, t(key)), bars(all.slice(0, SHOWN).map((one) => ({ name: one[name], value: one.count, more: evidence(app, one.evidence.slice(0, 3)) })), { label: t(key) })));
}

// Months above the line speak well, months below it ill.
function moods(app, profile) {
  const all = (profile.moods ?? []).slice(-MONTHS);
  if (all.length < 2) return null;
  const told = all.map((one) => `${one.month} ${format.signed(one.sentiment)}`).join(', ');
  const width = 100 / all.length;
  const bar = (one, at) => {
    const tall = Math.max(Math.abs(one.sentiment) * 42, 1);
    return svg('rect', { class: one.sentiment < 0 ? 'bar-against' : 'bar-for', x: `${at * width + width * 0.2}%`, width: `${width * 0.6}%`, y: one.sentiment < 0 ? 48 : 48 - tall, height: tall, rx: 2 }, svg('title', {}, `${one.month}: ${format.signed(one.sentiment)} (${one.count})`));
  };
  return h(
    'div',
    { class: 'stack' },
    h('div', { class: 'row between' }, h('h3', {}, t('moods')), profile.trend && badge(t(`trend.${profile.trend.direction}`), profile.trend.direction === 'worse' ? 'warn' : profile.trend.direction === 'better' ? 'accent' : '')),
    svg('svg', { class: 'moods', role: 'img', 'aria-label': `${t('moods')}: ${told}` }, svg('line', { class: 'bar-zero', x1: 0, x2: '100%', y1: 48, y2: 48 }), all.map(bar)),
    h('div', { class: 'row between muted small' }, h('span', {}, all[0].month), h('span', {}, all.at(-1).month)),
    h('details', {}, h('summary', {}, t('moods.why')), table([t('month'), t('mood'), t('said'), t('why')], all.map((one) => [one.month, format.signed(one.sentiment), format.number(one.count), evidence(app, one.evidence)]), { label: t('moods') })),
  );
}
