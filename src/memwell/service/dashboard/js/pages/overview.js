// The overview: what was learnt, what was asked and how well it was answered, and what needs attention. Where there is nothing
// yet, how to begin.
import { session } from '../api.js';
import { trend } from '../chart.js';
import * as format from '../format.js';
import { speaking } from '../language.js';
import { choice, h, notice, replace, skeleton, table } from '../parts.js';
import { pageHead, problem } from '../shell.js';
import words from '../words/overview.js';
import { needs } from './needs.js';

const t = speaking(words);
const SPANS = ['1h', '24h', '7d', '30d'];
const EVERY = 10_000;
const NEWEST = 6;
const chosen = { span: '24h', whole: false };

export function show(root, app) {
  const body = h('div', { class: 'stack' }, skeletons());
  const lead = h('p', {}, leadOf(app));
  const head = pageHead(t('title'), null, whose(app, refresh), spans(refresh));
  head.firstChild.append(lead);
  root.append(head, body);
  let parts = null;
  let asked = 0;

  async function refresh() {
    lead.textContent = leadOf(app);
    const number = (asked += 1);
    try {
      const figures = await app.api.get('/v1/figures', { span: chosen.span, whole: chosen.whole || null }, app.signal);
      figures.learnt = await learntIn(app, figures);
      // An answer to an earlier choice that came late.
      if (number !== asked) return;
      if (!parts && isNew(figures) && app.can('write')) return begin();
      if (!parts) {
        parts = built(app);
        replace(body, parts.nodes);
      }
      parts.tell(figures);
    } catch (error) {
      if (error.name === 'AbortError' || error.status === 401) return;
      parts = null;
      replace(body, problem(error, refresh));
    }
  }

  async function begin() {
    const { guide } = await import('./start.js').catch(() => import('./start.js?again=1'));
    clearInterval(timer);
    replace(head.lastChild);
    lead.remove();
    replace(body, guide(app));
  }

  const timer = setInterval(() => document.visibilityState === 'visible' && refresh(), EVERY);
  document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && refresh(), { signal: app.signal });
  refresh();
  return { leave: () => clearInterval(timer) };
}

// How many memories were stored in the time that is shown, however long ago they were said; null where that is not counted.
async function learntIn(app, { now, since, whole, totals }) {
  if (whole || !totals?.memories || !app.can('read')) return null;
  const found = await app.api.get('/v1/activity', { since, until: now, by: 'stored', steps: 1 }, app.signal).catch(() => null);
  return found?.counts.length ? found.total : null;
}

function isNew({ totals, whole }) {
  return !whole && totals?.memories === 0 && !totals.conversations && !totals.documents;
}

function leadOf(app) {
  return chosen.whole ? t('lead.whole') : t(session.space ? 'lead.visit' : 'lead.own', { space: app.me.key.space.join(' / ') });
}

function spans(refresh) {
  return choice({
    label: t('span'),
    value: chosen.span,
    options: SPANS.map((span) => [span, t(`span.${span}`), t(`span.spoken.${span}`)]),
    onchange: (span) => ((chosen.span = span), refresh()),
  });
}

function whose(app, refresh) {
  if (!app.can('admin')) return null;
  return choice({
    label: t('whose'),
    value: chosen.whole ? 'whole' : 'own',
    options: ['own', 'whole'].map((one) => [one, t(`whose.${one}`)]),
    onchange: (one) => ((chosen.whole = one === 'whole'), refresh()),
  });
}

function skeletons() {
  return skeleton(4, 'block');
}

// Three questions: what was learnt, what was asked and how well it was answered, and what needs attention.
function built(app) {
  const names = { learnt: ['memories'], asked: ['activity', 'quality', 'latency'] };
  const chart = (name) => trend({ title: t(`chart.${name}`), quiet: t('chart.quiet'), signal: app.signal });
  const charts = Object.fromEntries(Object.values(names).flat().map((name) => [name, chart(name)]));
  const tiles = { learnt: h('dl', { class: 'tiles' }), asked: h('dl', { class: 'tiles' }) };
  const newest = h('div', { class: 'card stack' });
  const attention = needs(app);
  const more = h('div', { class: 'stack' });
  const part = (name, ...children) => h('section', { class: 'stack question', data: { part: name }, 'aria-label': t(`ask.${name}`) }, h('h2', {}, t(`ask.${name}`)), children);
  const tell = (figures) => {
    replace(tiles.learnt, learntTiles(figures));
    replace(tiles.asked, askedTiles(figures));
    const times = (figures.trends ?? []).map((point) => Date.parse(point.time) / 1000);
    for (const [name, series] of Object.entries(trendsOf(figures.trends ?? []))) charts[name].update({ span: figures.span, times, series });
    attention.tell(figures);
    replace(more, moreOf(figures));
  };
  if (app.can('read')) latest(app, newest);
  return {
    nodes: [
      part('learnt', tiles.learnt, h('div', { class: 'charts two' }, charts.memories.node, newest)),
      part('asked', tiles.asked, h('div', { class: 'charts' }, names.asked.map((name) => charts[name].node))),
      part('needs', attention.node),
      more,
    ],
    tell,
  };
}

async function latest(app, box) {
  const { items } = await app.api.get('/v1/browse', { limit: NEWEST }, app.signal).catch(() => ({ items: [] }));
  replace(
    box,
    h('h3', {}, t('newest')),
    h('ul', { class: 'lines' }, items.map((one) => h('li', {}, h('time', { class: 'muted small', datetime: one.time }, format.ago(one.time)), h('a', { href: `#/memories/${encodeURIComponent(one.id)}`, translate: 'no' }, one.text)))),
    h('p', {}, h('a', { href: '#/memories' }, t('newest.all'))),
  );
}

function tile(name, value, note, kind = '') {
  return h('div', { class: `tile ${kind}` }, h('dt', {}, name), value, note && h('dd', { class: 'note' }, note));
}

const big = (text, unit) => h('dd', {}, text, unit && h('small', {}, unit));

function learntTiles(figures) {
  const { totals = {} } = figures;
  return [
    tile(t('memories'), big(format.compact(totals.memories)), figures.learnt == null ? memoryNote(totals) : t('learnt', { count: format.compact(figures.learnt) })),
    tile(t('conversations'), big(format.compact(totals.conversations)), noted('messages', totals.messages)),
    tile(t('documents'), big(format.compact(totals.documents)), noted('chunks', totals.chunks)),
    latencyTile('write', figures.write),
    activeTile(figures),
  ];
}

function askedTiles(figures) {
  const { answers = {}, recall = {} } = figures;
  return [
    tile(t('recalls'), big(format.compact(recall.count ?? 0)), t('recalls.note', { count: format.compact(answers.count ?? 0) })),
    tile(t('relevance'), big(format.percent(answers.relevance)), t('relevance.note')),
    tile(t('empty'), big(answers.count ? format.percent(answers.empty / answers.count, 1) : format.NOTHING), t('empty.note', { count: format.compact(answers.empty ?? 0) }), answers.count && answers.empty / answers.count > 0.3 ? 'warn' : ''),
    latencyTile('recall', recall),
    qualityTile(figures.quality),
  ];
}

// Some stores cannot count everything of everybody.
const noted = (key, count) => (count == null ? t('uncounted') : t(key, { count: format.compact(count) }));

function memoryNote({ memories, media, counted }) {
  if (memories == null) return t('uncounted');
  return media ? noted('media', media) : t('counted', { ago: format.ago(counted) });
}

function activeTile({ active = {}, whole }) {
  const [day, week] = whole ? [active.spaces_day, active.spaces_week] : [
    // Whoever uses a space without naming speakers is one user all the same.
    Math.max(active.speakers_day, active.spaces_day), Math.max(active.speakers_week, active.spaces_week),
  ];
  return tile(t(whole ? 'active.spaces' : 'active'), big(format.compact(day)), t('active.week', { count: format.compact(week) }));
}

function latencyTile(name, latency) {
  if (!latency?.count) return tile(t(name), big(format.NOTHING), t('nocalls'));
  const note = t('p50p95', { p95: format.duration(latency.p95), count: format.compact(latency.count) });
  return tile(t(name), big(format.duration(latency.p50), t('p50')), note);
}

function qualityTile(quality) {
  if (!quality) return tile(t('quality'), h('dd', { class: 'words' }, t('quality.none')), h('code', {}, t('quality.how')));
  const note = t('quality.note', { data: quality.data, ago: format.ago(quality.time) });
  return tile(t('quality'), big(format.number(quality.ndcg10, 3)), note);
}

function trendsOf(points) {
  const line = (key, colour, write, more) => ({
    name: t(`series.${key}`),
    colour,
    write,
    values: points.map((point) => point[key] ?? null),
    ...more,
  });
  return {
    memories: [line('memories', '--c1', format.compact, { area: true, told: 'last' }), line('writes', '--c5', format.compact, { own: true, bars: 1, told: 'sum' })],
    activity: [line('recalls', '--c3', format.compact, { bars: -1, told: 'sum' }), line('empty', '--c2', format.compact, { bars: 1, told: 'sum' }), line('errors', '--c6', format.compact, { thin: true, told: 'sum' })],
    quality: [line('relevance', '--c1', (share) => format.percent(share), { limit: 1 })],
    latency: [line('recall_p95', '--c3', format.duration), line('recall_p50', '--c3', format.duration, { thin: true }), line('write_p95', '--c1', format.duration), line('write_p50', '--c1', format.duration, { thin: true })],
  };
}

function moreOf(figures) {
  return [
    figures.complete === false && notice('warn', t('incomplete')),
    figures.costs?.models?.length > 0 && h('section', { class: 'card' }, h('h2', {}, t('models')), models(figures.costs.models)),
    figures.operations?.length > 0 && h('section', { class: 'card' }, h('h2', {}, t('operations')), operations(figures.operations)),
  ];
}

function models(all) {
  const rows = all.map((one) => [
    one.model,
    format.number(one.calls),
    `${format.compact(one.input_tokens)} / ${format.compact(one.output_tokens)}`,
    format.number(one.cost, 2),
  ]);
  return table(['model', 'calls', 'tokens', 'cost'].map((key) => t(key)), rows, { label: t('models') });
}

function operations(all) {
  const busiest = [...all].sort((one, other) => other.requests - one.requests).slice(0, 20);
  const rows = busiest.map((one) => [
    one.operation,
    format.number(one.requests),
    format.number(one.errors),
    format.duration(one.latency?.p50),
    format.duration(one.latency?.p95),
  ]);
  return table([t('operation'), t('requests'), t('errors'), 'p50', 'p95'], rows, { label: t('operations') });
}
