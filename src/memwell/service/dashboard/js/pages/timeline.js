// The timeline: when things were said, when facts began and ended, and what held at a moment.
import * as format from '../format.js';
import { speaking } from '../language.js';
import { badge, button, empty, field, h, icon, notice, replace, skeleton } from '../parts.js';
import { began, evidence, names, own, person, relation, from as fromWhen, short } from '../more.js';
import { speakerName } from '../names.js';
import { pageHead, problem, t as shellT } from '../shell.js';
import words from '../words/timeline.js';
import { strip } from './strip.js';

const t = speaking(words);
const LONGEST = 240;
const PAGE = 1000;
const FACT_PAGES = 3;
const SHOWN = 60;
const DAY = 86_400_000;
const WAIT_MS = 180;

export function show(root, app) {
  const body = h('div', { class: 'stack' }, skeleton(4, 'block'));
  root.append(pageHead(t('title'), t('lead')), body);
  load();

  async function load() {
    try {
      const [page, facts] = await Promise.all([app.api.get('/v1/memories', { limit: PAGE }, app.signal), allFacts(app)]);
      if (!page.items.length) return void replace(body, nothing(app));
      build(page, facts);
    } catch (error) {
      if (error.name !== 'AbortError') replace(body, problem(error, load));
    }
  }

  function build(page, facts) {
    const state = { memories: page.items, next: page.next, events: eventsOf(page.items, facts.all) };
    const list = h('div', { class: 'stack' });
    const note = h('div', {});
    const drawn = strip({ app, events: state.events, onrange: (from, to) => told(list, app, state.events, from, to) });
    const tell = () => {
      const more = button({ label: t('older'), small: true });
      more.addEventListener('click', async () => {
        const older = await app.api.get('/v1/memories', { limit: PAGE, cursor: state.next }, app.signal).catch(app.failed);
        if (!older) return;
        state.memories = [...state.memories, ...older.items];
        state.next = older.next;
        state.events = eventsOf(state.memories, facts.all);
        tell();
        drawn.update(state.events);
      });
      replace(note, state.next && notice('plain', h('p', {}, t('partly', { count: format.number(state.memories.length) })), h('p', {}, more)), facts.more && notice('plain', t('partly.facts', { count: format.number(facts.all.length) })));
    };
    tell();
    const first = state.events.at(-1).at;
    replace(body, note, h('section', { class: 'card stack' }, h('h2', {}, t('when')), drawn.node), moment(app, first), list);
    drawn.start();
  }
}

async function allFacts(app) {
  const all = [];
  let cursor = null;
  for (let page = 0; page < FACT_PAGES; page += 1) {
    const found = await app.api.get('/v1/facts/all', { limit: PAGE, cursor }, app.signal);
    all.push(...found.items);
    cursor = found.next;
    if (!cursor) break;
  }
  return { all, more: Boolean(cursor) };
}

function eventsOf(memories, facts) {
  const events = memories.map((memory) => ({ kind: 'said', at: Date.parse(memory.time), memory }));
  for (const fact of facts) {
    events.push({ kind: 'began', at: Date.parse(began(fact)), fact });
    const end = fact.retired_at ?? fact.valid_to;
    if (end) events.push({ kind: 'ended', at: Date.parse(end), fact });
  }
  return events.filter((event) => Number.isFinite(event.at)).sort((one, other) => other.at - one.at);
}

function nothing(app) {
  const action = app.can('write') && h('a', { class: 'button primary', href: '#/start' }, t('none.action'));
  return empty({ icon: 'timeline', title: t('none.title'), text: t('none.text'), action });
}

// What happened in the range, by days, the newest first.
function told(list, app, events, from, to, most = SHOWN) {
  const inside = events.filter((event) => event.at >= from && event.at <= to);
  const days = new Map();
  for (const event of inside.slice(0, most)) {
    const day = format.date(event.at);
    if (!days.has(day)) days.set(day, []);
    days.get(day).push(event);
  }
  replace(
    list,
    h('p', { class: 'muted', role: 'status' }, t('inside', { said: count(inside, 'said'), began: count(inside, 'began'), ended: count(inside, 'ended') })),
    [...days].map(([day, all]) => h('section', { class: 'day' }, h('h3', {}, day), h('ul', {}, all.map((event) => h('li', {}, happened(event)))))),
    inside.length > most && h('div', { class: 'row' }, button({ label: shellT('more'), onclick: () => told(list, app, events, from, to, most + 4 * SHOWN) })),
  );
}

const count = (events, kind) => format.number(events.filter((event) => event.kind === kind).length);

function happened({ kind, memory, fact }) {
  if (kind === 'said') {
    return h('a', { class: 'event', href: `#/memories/${encodeURIComponent(memory.id)}` }, h('i', { class: 'dot e-said' }), memory.speaker && h('strong', {}, own(speakerName(memory.speaker))), own(short(memory.text, LONGEST)));
  }
  return h('div', { class: `event${kind === 'ended' ? ' over' : ''}` }, h('i', { class: `dot e-${kind}` }), badge(t(kind), kind === 'began' ? 'accent' : ''), sentence(fact));
}

function sentence(fact) {
  return h('span', {}, h('a', { href: `#/profiles/${encodeURIComponent(fact.subject)}` }, own(person(fact.subject))), ' ', own(relation(fact.relation)), ' ', own(fact.object));
}

// A slider over the days: what held of somebody then.
function moment(app, first) {
  const who = h('input', { autocomplete: 'off', translate: 'no' });
  const { choices, found } = names(app, who);
  const days = Math.max(Math.ceil((Date.now() - first) / DAY), 1);
  const slider = h('input', { type: 'range', min: 0, max: days, value: days });
  const out = h('div', { class: 'stack', 'aria-live': 'polite' });
  const title = h('h3', {});
  let timer = null;
  let asked = 0;

  async function ask() {
    const at = Number(slider.value) >= days ? new Date() : new Date(first + Number(slider.value) * DAY);
    slider.setAttribute('aria-valuetext', format.date(at));
    replace(title, t('known', { date: format.date(at) }));
    if (!who.value.trim()) return void replace(out, h('p', { class: 'muted' }, t('who.none')));
    const number = (asked += 1);
    try {
      const { facts } = await app.api.get('/v1/facts', { subject: who.value.trim(), as_of: at.toISOString() }, app.signal);
      if (number !== asked) return;
      replace(out, facts.length ? h('ul', { class: 'chips' }, facts.map((fact) => h('li', { class: 'chip' }, h('span', { class: 'muted' }, own(relation(fact.relation))), own(fact.object), h('small', { class: 'muted' }, fromWhen(fact)), evidence(app, fact.evidence.map((one) => one.record))))) : h('p', { class: 'muted' }, t('known.none')));
    } catch (error) {
      if (error.name !== 'AbortError' && number === asked) replace(out, problem(error));
    }
  }

  const soon = () => (clearTimeout(timer), (timer = setTimeout(ask, WAIT_MS)));
  slider.addEventListener('input', soon);
  who.addEventListener('input', soon);
  found.then((subjects) => ((who.value ||= subjects[0]?.name ?? ''), ask())).catch(() => ask());
  return h('section', { class: 'card stack', data: { part: 'moment' } }, h('div', { class: 'fields' }, field(t('who'), who), field(t('day'), slider)), choices, h('div', { class: 'row' }, icon('timeline'), title), out);
}
