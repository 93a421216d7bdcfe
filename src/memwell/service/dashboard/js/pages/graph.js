// The graph: who and what is connected, drawn and as a table.
import * as format from '../format.js';
import { speaking } from '../language.js';
import { badge, choice, empty, field, h, notice, replace, skeleton, table } from '../parts.js';
import { evidence, isOver, names, own, person, relation, since, until } from '../more.js';
import { pageHead, problem } from '../shell.js';
import words from '../words/graph.js';
import { drawn, keysOf } from './web.js';

const t = speaking(words);
const MOST = 200;
const DEPTHS = ['1', '2', '3'];
const PASTS = 12;

export function show(root, app, where) {
  const name = h('input', { type: 'search', autocomplete: 'off', translate: 'no', data: { search: '' } });
  const { choices, found } = names(app, name);
  const past = h('input', { type: 'checkbox', checked: true });
  const state = { depth: '2' };
  const out = h('div', { class: 'stack' }, skeleton(3, 'block'));
  const go = h('button', { class: 'button primary', type: 'submit' }, t('go'));
  const depth = h('div', { class: 'field' }, h('span', { class: 'label', 'aria-hidden': 'true' }, t('depth')), choice({ label: t('depth'), value: state.depth, options: DEPTHS.map((one) => [one, one, t('steps', { count: Number(one) })]), onchange: (one) => ((state.depth = one), load()) }));
  const form = h('form', { class: 'card row graph-form', role: 'search' }, h('div', { class: 'grow' }, field(t('start'), name)), choices, depth, h('label', { class: 'check' }, past, h('span', {}, t('past'))), go);
  form.addEventListener('submit', (event) => (event.preventDefault(), to(name.value.trim())));
  past.addEventListener('change', () => load());
  root.append(pageHead(t('title'), t('lead')), h('div', { class: 'stack' }, form, out));
  let asked = 0;

  const to = (start) => start && app.go('graph', { start });

  async function load() {
    const number = (asked += 1);
    try {
      if (!name.value) {
        const subjects = await found;
        if (!subjects.length) return void replace(out, nothing(app));
        name.value = subjects[0].name;
      }
      const start = name.value.trim();
      const { edges } = await app.api.get('/v1/graph', { start, depth: state.depth, limit: MOST }, app.signal);
      const all = past.checked ? [...edges, ...(await ended(app, start, edges))].slice(0, MOST + PASTS * 4) : edges;
      if (number === asked) tell(start, all, edges.length >= MOST);
    } catch (error) {
      if (error.name !== 'AbortError' && number === asked) replace(out, problem(error, load));
    }
  }

  function tell(start, edges, cut) {
    if (!edges.length) return void replace(out, empty({ icon: 'graph', title: t('alone', { name: person(start) }), text: t('alone.text') }));
    replace(
      out,
      cut && notice('plain', t('cut', { count: MOST })),
      drawn({ app, start, edges, onopen: to }),
      h('section', { class: 'card' }, h('h2', {}, t('table', { count: edges.length })), rows(app, edges)),
    );
  }

  function moved(now) {
    name.value = now.query.get('start') ?? name.value;
    load();
  }

  moved(where);
  return { moved };
}

// The walk tells what holds now. What is over comes from the histories of those it met.
async function ended(app, start, edges) {
  const subjects = [...new Map([[start.toLowerCase(), start], ...edges.map((edge) => [edge.source, edge.fact.subject])]).values()].slice(0, PASTS);
  const known = new Set(edges.map((edge) => edge.fact.id));
  const histories = await Promise.all(subjects.map((subject) => app.api.get('/v1/facts/history', { subject }, app.signal)));
  const over = histories.flatMap(({ facts }) => facts.filter((fact) => isOver(fact) && !known.has(fact.id)));
  const keys = keysOf(edges);
  return over.map((fact) => ({ source: keys(fact.subject), target: keys(fact.object), depth: 1, fact }));
}

function nothing(app) {
  const action = app.can('write') && h('a', { class: 'button primary', href: '#/start' }, t('none.action'));
  return empty({ icon: 'graph', title: t('none.title'), text: t('none.text'), action });
}

function rows(app, edges) {
  const heads = ['who', 'how', 'what', 'since', 'until', 'why'].map((key) => t(key));
  const link = (name) => h('a', { href: `#/graph?start=${encodeURIComponent(name)}` }, own(person(name)));
  return table(
    heads,
    edges.map(({ fact }) => [link(fact.subject), own(relation(fact.relation)), link(fact.object), since(fact), isOver(fact) ? badge(until(fact) || t('over')) : format.NOTHING, evidence(app, fact.evidence.map((one) => one.record))]),
    { label: t('table', { count: edges.length }), classes: 'wide' },
  );
}
