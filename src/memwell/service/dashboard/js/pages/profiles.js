// Profiles: whom something is known of, and what.
import { path } from '../api.js';
import * as format from '../format.js';
import { language, speaking } from '../language.js';
import { badge, busy, button, dialog, empty, field, h, icon, replace, skeleton, svg, table } from '../parts.js';
import { bars, evidence, isOver, own, person, relation, since, until } from '../more.js';
import { pageHead, problem, t as shellT } from '../shell.js';
import words from '../words/profiles.js';

const t = speaking(words);
const SHOWN = 10;
const MONTHS = 18;

export function show(root, app, where) {
  const list = h('div', { class: 'side-list' }, skeleton(6));
  const filter = h('input', { type: 'search', 'aria-label': t('filter'), placeholder: t('filter'), autocomplete: 'off', data: { search: '' } });
  const main = h('section', { class: 'pane-main', 'aria-label': t('profile') });
  const panes = h('div', { class: 'panes' }, h('section', { class: 'pane-side', 'aria-label': t('names') }, h('div', { class: 'search' }, h('div', { class: 'box' }, icon('search'), filter)), list), main);
  root.append(pageHead(t('title'), t('lead')), panes);
  let subjects = null;
  let shown = null;
  filter.addEventListener('input', () => subjects && draw());

  async function load(to) {
    try {
      ({ subjects } = await app.api.get('/v1/profiles', {}, app.signal));
      panes.classList.toggle('bare', !subjects.length);
      draw();
      moved(to);
    } catch (error) {
      if (error.name !== 'AbortError') replace(list, problem(error, () => load(to)));
    }
  }

  function draw() {
    const said = filter.value.trim().toLowerCase();
    const fits = subjects.filter((one) => one.name.toLowerCase().includes(said) || person(one.name).includes(said));
    replace(list, !subjects.length && h('p', { class: 'muted' }, t('none')), subjects.length > 0 && !fits.length && h('p', { class: 'muted' }, t('filtered')), h('ul', {}, fits.slice(0, 300).map((one) => h('li', {}, entry(one, shown)))));
  }

  function moved(to) {
    if (!subjects) return;
    panes.classList.toggle('open', Boolean(to.rest[0]));
    // On a wide screen there is room for the best known from the beginning.
    const name = to.rest[0] ?? subjects[0]?.name;
    if (!name) return void replace(main, nothing(app));
    if (name !== shown) one(main, app, (shown = name));
    draw();
  }

  load(where);
  return { moved };
}

function entry({ name, facts }, shown) {
  return h('a', { href: `#/profiles/${encodeURIComponent(name)}`, 'aria-current': name === shown ? 'true' : null }, h('strong', {}, own(person(name))), h('span', { class: 'muted small' }, t('facts', { count: facts })));
}

function nothing(app) {
  const action = app.can('write') && h('a', { class: 'button primary', href: '#/start' }, t('none.action'));
  return empty({ icon: 'person', title: t('none.title'), text: t('none.text'), action });
}

async function one(main, app, name) {
  const again = () => one(main, app, name);
  replace(main, skeleton(5, 'block'));
  try {
    const [profile, { facts }] = await Promise.all([
      app.api.get(path`/v1/profiles/${name}`, { language: language() }, app.signal),
      app.api.get('/v1/facts/history', { subject: name }, app.signal),
    ]);
    replace(main, head(profile), h('div', { class: 'columns' }, traits(app, profile, again), about(app, profile)), moods(app, profile), history(app, facts, again));
  } catch (error) {
    if (error.name !== 'AbortError') replace(main, problem(error, again));
  }
}

function head(profile) {
  return h(
    'div',
    { class: 'stack profile-head' },
    h('a', { class: 'button quiet small back', href: '#/profiles' }, t('back')),
    h('div', { class: 'row between' }, h('h2', {}, own(person(profile.subject))), h('a', { class: 'button small', href: `#/graph?start=${encodeURIComponent(profile.subject)}` }, icon('graph', 16), h('span', {}, t('graph')))),
    h('p', { class: 'muted small row' }, h('span', {}, t('facts', { count: profile.facts })), h('span', {}, t('memories', { count: profile.records })), profile.sessions > 0 && h('span', {}, t('sessions', { count: profile.sessions })), profile.first && h('span', {}, t('between', { first: format.date(profile.first), last: format.date(profile.last) }))),
  );
}

function traits(app, profile, again) {
  const likes = profile.preferences.filter((one) => one.relation === 'likes');
  const dislikes = profile.preferences.filter((one) => one.relation !== 'likes');
  const boxes = [
    ['attributes', profile.attributes, true],
    ['likes', likes, false],
    ['dislikes', dislikes, false],
    ['people', profile.people, true],
  ].filter(([, all]) => all.length);
  return boxes.map(([key, all, named]) => h('section', { class: 'card stack' }, h('h3', {}, t(key)), h('ul', { class: 'traits' }, all.map((one) => trait(app, profile.subject, one, named, key === 'people', again)))));
}

function trait(app, subject, one, named, linked, again) {
  const value = own(one.value, { title: `${t('sure')}: ${format.percent(one.confidence)}` });
  return h(
    'li',
    {},
    named && h('span', { class: 'muted' }, own(relation(one.relation))),
    linked ? h('a', { href: `#/profiles/${encodeURIComponent(one.value)}` }, value) : value,
    one.since && h('small', { class: 'muted' }, t('since', { date: format.date(one.since) })),
    evidence(app, one.evidence),
    hands(app, { subject, relation: one.relation, object: one.value }, again),
  );
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
  });
  value.select();
}

function retracting(app, fact, again) {
  const day = h('input', { type: 'date' });
  asking(app, fact, again, {
    kind: 'retract',
    fields: [field(t('retract.ended'), day, { hint: t('retract.ended.hint') })],
    body: () => ({ value: fact.object, ended: moment(day) }),
  });
}

const moment = (day) => (day.value ? new Date(`${day.value}T00:00`).toISOString() : null);

// A window that sends one change of a fact, and shows the profile again.
function asking(app, fact, again, { kind, fields, body }) {
  const go = h('button', { class: 'button primary', type: 'submit' }, t(kind));
  const out = h('div', {});
  const form = h('form', { class: 'stack' }, h('p', {}, own(person(fact.subject)), ' – ', relation(fact.relation), ' – ', own(fact.object)), fields, out, h('div', { class: 'row' }, go, button({ label: shellT('cancel'), onclick: () => shown.close() })));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    try {
      await busy(go, () => app.api.post(`/v1/facts/${kind}`, { subject: fact.subject, relation: fact.relation, ...body() }, app.signal));
      shown.close();
      app.toast(t(`${kind}.done`));
      again();
    } catch (error) {
      replace(out, problem(error));
    }
  });
  const shown = dialog({ title: t(`${kind}.title`), closing: shellT('close') }, form);
}

function about(app, profile) {
  // A topic is also a word; it need not be told twice.
  const topics = new Set((profile.topics ?? []).map((one) => one.word));
  const kinds = [
    ['topics', profile.topics, 'word'],
    ['keywords', (profile.keywords ?? []).filter((one) => !topics.has(one.word)), 'word'],
    ['sessions.title', profile.by_session, 'name'],
  ].filter(([, all]) => all?.length);
  return kinds.map(([key, all, name]) => h('section', { class: 'card stack' }, h('h3', {}, t(key)), bars(all.slice(0, SHOWN).map((one) => ({ name: one[name], value: one.count, more: evidence(app, one.evidence.slice(0, 3)) })), { label: t(key) })));
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
    'section',
    { class: 'card stack' },
    h('div', { class: 'row between' }, h('h3', {}, t('moods')), profile.trend && badge(t(`trend.${profile.trend.direction}`), profile.trend.direction === 'worse' ? 'warn' : profile.trend.direction === 'better' ? 'accent' : '')),
    svg('svg', { class: 'moods', role: 'img', 'aria-label': `${t('moods')}: ${told}` }, svg('line', { class: 'bar-zero', x1: 0, x2: '100%', y1: 48, y2: 48 }), all.map(bar)),
    h('div', { class: 'row between muted small' }, h('span', {}, all[0].month), h('span', {}, all.at(-1).month)),
    h('details', {}, h('summary', {}, t('moods.why')), table([t('month'), t('mood'), t('said'), t('why')], all.map((one) => [one.month, format.signed(one.sentiment), format.number(one.count), evidence(app, one.evidence)]), { label: t('moods') })),
  );
}

function history(app, facts, again) {
  if (!facts.length) return h('section', { class: 'card' }, h('h3', {}, t('history')), h('p', { class: 'muted' }, t('history.none')));
  const sorted = [...facts].sort((one, other) => one.relation.localeCompare(other.relation) || Date.parse(one.valid_from ?? one.said_at) - Date.parse(other.valid_from ?? other.said_at));
  return h(
    'section',
    { class: 'card' },
    h('h3', {}, t('history')),
    table(
      ['how', 'what', 'from', 'until', 'sure', 'why', 'hands'].map((key) => t(key)),
      sorted.map((fact) => [own(relation(fact.relation)), own(fact.object, isOver(fact) ? { class: 'over' } : {}), since(fact), isOver(fact) ? badge(until(fact)) : until(fact) || t('now'), format.percent(fact.confidence), evidence(app, fact.evidence.map((one) => one.record)), fact.retired_at ? '' : hands(app, fact, again)]),
      { label: t('history'), classes: 'wide' },
    ),
  );
}
