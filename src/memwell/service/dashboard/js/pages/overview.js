// The overview: what there is, how it is used, how fast and how reliably. Where there is nothing yet, how to begin.
import { trend } from '../chart.js';
import * as format from '../format.js';
import { speaking } from '../language.js';
import { choice, h, notice, replace, skeleton, table } from '../parts.js';
import { pageHead, problem } from '../shell.js';
import words from '../words/overview.js';

const t = speaking(words);
const SPANS = ['1h', '24h', '7d', '30d'];
const EVERY = 10_000;
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
      // An answer to an earlier choice that came late.
      if (number !== asked) return;
      if (!parts && isNew(figures) && app.can('write')) return begin();
      if (!parts) {
        parts = built(app.signal);
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

function isNew({ totals, whole }) {
  return !whole && totals?.memories === 0 && !totals.conversations && !totals.documents;
}

function leadOf(app) {
  return chosen.whole ? t('lead.whole') : t('lead.own', { space: app.me.key.space.join(' / ') });
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
  const tiles = skeleton(11, 'block');
  tiles.classList.add('tiles');
  return [tiles, skeleton(2, 'block')];
}

function built(signal) {
  const tiles = h('dl', { class: 'tiles' });
  const charts = ['activity', 'latency', 'memories'].map((name) =>
    trend({ title: t(`chart.${name}`), quiet: t('chart.quiet'), signal }),
  );
  const more = h('div', { class: 'stack' });
  const tell = (figures) => {
    tiles.classList.toggle('whole', figures.whole === true);
    replace(tiles, tilesOf(figures));
    const times = (figures.trends ?? []).map((point) => Date.parse(point.time) / 1000);
    trendsOf(figures.trends ?? []).forEach((series, at) => charts[at].update({ span: figures.span, times, series }));
    replace(more, moreOf(figures));
  };
  return { nodes: [tiles, h('div', { class: 'charts' }, charts.map((chart) => chart.node)), more], tell };
}

function tile(name, value, note, kind = '') {
  return h('div', { class: `tile ${kind}` }, h('dt', {}, name), value, note && h('dd', { class: 'note' }, note));
}

const big = (text, unit) => h('dd', {}, text, unit && h('small', {}, unit));
const sum = (...numbers) => numbers.reduce((whole, one) => whole + (one ?? 0), 0);

function tilesOf(figures) {
  const { totals = {}, availability = {}, queue = {} } = figures;
  const waiting = sum(queue.words, queue.vectors, queue.jobs);
  return [
    tile(t('conversations'), big(format.compact(totals.conversations)), noted('messages', totals.messages)),
    tile(t('memories'), big(format.compact(totals.memories)), memoryNote(totals)),
    tile(t('documents'), big(format.compact(totals.documents)), noted('chunks', totals.chunks)),
    activeTile(figures),
    latencyTile('write', figures.write),
    latencyTile('recall', figures.recall),
    qualityTile(figures.quality),
    tile(t('queue'), big(format.compact(waiting)), waiting ? t('queue.note', { words: format.compact(queue.words), vectors: format.compact(queue.vectors), jobs: format.compact(queue.jobs) }) : t('queue.empty'), waiting > 10_000 ? 'warn' : ''),
    tile(t('errors'), big(format.compact(availability.errors)), t('errors.note', { refused: format.compact(availability.refused) }), availability.errors ? 'bad' : ''),
    tile(t('availability'), big(format.percent(availability.share, 2)), t('availability.note', { requests: format.compact(availability.requests), uptime: format.duration(availability.uptime_s) })),
    figures.whole && tile(t('flight'), big(format.compact(availability.in_flight)), t('flight.note')),
    figures.whole && costTile(figures.costs),
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

function costTile(costs) {
  if (!costs) return tile(t('costs.models'), big(format.NOTHING), t('costs.none'));
  const part = costs.cap ? Math.min(costs.spent / costs.cap, 1) : 0;
  const made = tile(
    t('costs', { month: costs.month }),
    big(format.number(costs.spent, 2)),
    costs.cap == null ? t('costs.nocap') : t('costs.cap', { cap: format.number(costs.cap, 2) }),
    part >= 1 ? 'bad' : part > 0.8 ? 'warn' : '',
  );
  if (costs.cap) made.append(h('dd', { class: `meter${part > 0.8 ? ' bad' : ''}` }, h('div', { style: { width: `${100 * part}%` } })));
  return made;
}

function trendsOf(points) {
  const line = (key, colour, write, more) => ({
    name: t(`series.${key}`),
    colour,
    write,
    values: points.map((point) => point[key] ?? null),
    ...more,
  });
  return [
    [
      line('writes', '--c1', format.compact, { solid: true, bars: -1, told: 'sum' }),
      line('recalls', '--c3', format.compact, { solid: true, bars: 1, told: 'sum' }),
      line('errors', '--c6', format.compact, { thin: true, told: 'sum' }),
    ],
    [
      line('recall_p95', '--c3', format.duration),
      line('recall_p50', '--c3', format.duration, { thin: true }),
      line('write_p95', '--c1', format.duration),
      line('write_p50', '--c1', format.duration, { thin: true }),
    ],
    [line('memories', '--c1', format.compact, { area: true, told: 'last' })],
  ];
}

function moreOf(figures) {
  return [
    figures.complete === false && notice('warn', t('incomplete')),
    h('section', { class: 'card' }, h('h2', {}, t('failures')), failures(figures.errors ?? [])),
    figures.costs?.models?.length > 0 && h('section', { class: 'card' }, h('h2', {}, t('models')), models(figures.costs.models)),
    figures.operations?.length > 0 && h('section', { class: 'card' }, h('h2', {}, t('operations')), operations(figures.operations)),
  ];
}

function failures(errors) {
  if (!errors.length) return h('p', { class: 'muted' }, t('failures.none'));
  const heads = ['time', 'operation', 'status', 'code'].map((key) => t(key));
  const rows = errors.map((one) => [format.dateTime(one.time, true), one.operation, String(one.status), one.code]);
  return table(heads, rows, { label: t('failures') });
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
