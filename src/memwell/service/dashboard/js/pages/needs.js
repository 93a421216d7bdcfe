// What needs attention: contradictions with both texts, jobs that failed, work that is pending, budgets, and failed requests.
import { path } from '../api.js';
import * as format from '../format.js';
import { speaking } from '../language.js';
import { badge, h, replace, skeleton } from '../parts.js';
import { actionName } from '../names.js';
import words from '../words/overview.js';

const t = speaking(words);
const SHOWN = 5;
const MOST = 12;
const SHORT = 160;
const MUCH_PENDING = 1000;
const MUCH_SPENT = 0.8;

// { node, tell(figures) }: what is asked for once, and what comes with every figures.
export function needs(app) {
  const asked = h('div', { class: 'stack' }, skeleton(2));
  const now = h('div', { class: 'stack' });
  const state = { asked: null, now: null };
  const names = {};
  const node = h('div', { class: 'card stack needs' }, asked, now);
  const calm = () => state.asked === 0 && state.now === 0 && replace(asked, h('p', { class: 'muted' }, t('needs.none')));

  async function look() {
    const [clashes, jobs] = await Promise.all([
      app.api.get('/v1/facts/conflicts', { limit: MOST }, app.signal).then((found) => found.items, () => []),
      app.api.get('/v1/jobs', {}, app.signal).then((found) => found.items.filter((job) => job.status === 'failed'), () => []),
    ]);
    state.asked = clashes.length + jobs.length;
    // The words for relations belong to later pages; the first view does without them where nothing contradicts.
    const { person, relation } = clashes.length ? await import('../more.js') : {};
    names.person = person;
    names.relation = relation;
    replace(asked, clashes.length > 0 && contradictions(app, clashes, names), jobs.length > 0 && failedJobs(jobs));
    calm();
  }

  function tell(figures) {
    const found = [pendingNote(figures), ...budgets(figures), failures(figures.errors ?? [])].filter(Boolean);
    state.now = found.length;
    replace(now, found);
    calm();
  }

  look();
  return { node, tell };
}

function need(kind, count, title, ...children) {
  return h('section', { class: 'stack need', data: { need: kind } }, h('h3', { class: 'row' }, badge(count, 'warn'), title), children);
}

function contradictions(app, clashes, { person, relation }) {
  // One of each question first: a birthday may have been told five times.
  const asked = new Map(clashes.map((one) => [`${one.kept.subject} ${one.kept.relation}`, one]));
  const shown = [...new Set([...asked.values(), ...clashes])].slice(0, SHOWN);
  return need(
    'contradictions',
    `${format.number(clashes.length)}${clashes.length < MOST ? '' : '+'}`,
    t('needs.contradictions', { count: clashes.length }),
    h('ul', { class: 'clashes' }, shown.map(({ kept, other }) => h('li', {}, h('span', {}, h('a', { href: `#/people/${encodeURIComponent(kept.subject)}`, translate: 'no' }, person(kept.subject)), ' ', relation(kept.relation)), side(app, kept, 'kept'), side(app, other, 'other')))),
    clashes.length > SHOWN && h('p', {}, h('a', { href: '#/audit' }, t('needs.all'))),
  );
}

// One of the two: its value, when it was said, and in which words. What was stated by hand has no memory.
function side(app, fact, which) {
  const id = fact.evidence[0]?.record;
  const told = id && id !== 'by hand' && h('a', { class: 'small', href: `#/memories/${encodeURIComponent(id)}`, translate: 'no' }, '…');
  if (told) app.api.get(path`/v1/memories/${id}`, {}, app.signal).then((memory) => (told.textContent = `“${memory.text.slice(0, SHORT)}${memory.text.length > SHORT ? '…' : ''}”`), () => {});
  return h('span', { class: `told ${which}` }, h('strong', { translate: 'no' }, fact.object), h('span', { class: 'muted small' }, t(`needs.${which}`), ' ', format.date(fact.said_at)), told);
}

function failedJobs(jobs) {
  return need('jobs', format.number(jobs.length), t('needs.jobs', { count: jobs.length }), h('ul', { class: 'lines' }, jobs.slice(0, SHOWN).map((job) => h('li', {}, h('time', { class: 'muted small', datetime: job.updated }, format.ago(job.updated)), h('a', { href: '#/settings' }, actionName(job.action), ': ', h('span', { translate: 'no' }, job.problem?.detail || job.problem?.title || ''))))));
}

function pendingNote({ queue = {} }) {
  const waiting = (queue.words ?? 0) + (queue.vectors ?? 0);
  if (!waiting) return null;
  return need('pending', format.compact(waiting), t(waiting > MUCH_PENDING ? 'needs.pending.much' : 'needs.pending'), h('p', { class: 'muted' }, t('queue.note', { words: format.compact(queue.words), vectors: format.compact(queue.vectors), jobs: format.compact(queue.jobs) })));
}

function budgets({ costs }) {
  if (!costs?.cap) return [];
  const part = costs.spent / costs.cap;
  if (part < MUCH_SPENT) return [];
  return [need('budget', format.percent(part), t('needs.budget', { month: costs.month }), h('p', { class: 'muted' }, t('needs.budget.note', { spent: format.number(costs.spent, 2), cap: format.number(costs.cap, 2) })))];
}

function failures(errors) {
  if (!errors.length) return null;
  return need('failures', format.number(errors.length), t('failures'), h('ul', { class: 'lines' }, errors.slice(0, SHOWN).map((one) => h('li', {}, h('time', { class: 'muted small', datetime: one.time }, format.ago(one.time)), h('code', {}, `${one.operation} ${one.status} ${one.code}`)))));
}
