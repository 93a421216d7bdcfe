// Trends over time, drawn as SVG. A line ends where nothing was measured: it is not drawn across a gap.
import * as format from './format.js';
import { h, replace, svg } from './parts.js';

const LEFT = 52;
const FOOT = 20;
const TOP = 8;
const WIDE = 88; // The room of the name of a moment.
const MOST_BAR = 22;

// A chart that can be told new figures: { node, update({ span, times, series }) }.
// `series` is [{ name, colour: '--c1', values, write: number => text, told: 'sum' | 'last' | null, bars: 0 | -1 | 1 }]: what
// of it stands in the legend as long as nothing is pointed at, and on which side of a moment its bars stand.
export function trend({ title, quiet, signal }) {
  const legend = h('div', { class: 'legend', 'aria-hidden': 'true' });
  const plot = h('div', { class: 'plot', role: 'img' });
  const node = h('section', { class: 'card chart' }, h('div', { class: 'chart-head' }, h('h3', {}, title), legend), plot);
  let told = null;
  const paint = () => {
    if (!told) return;
    const something = told.series.some((one) => one.values.some((value) => value != null && value !== 0));
    plot.setAttribute('aria-label', `${title}: ${told.series.map((one) => `${one.name} ${toldOf(one)}`.trim()).join(', ')}`);
    showLegend(legend, told, null);
    replace(plot, something ? drawn(plot, legend, told) : h('p', { class: 'quiet' }, quiet));
  };
  const watch = new ResizeObserver(paint);
  watch.observe(plot);
  signal.addEventListener('abort', () => watch.disconnect());
  const update = (now) => {
    told = now;
    paint();
  };
  return { node, update };
}

function toldOf({ values, write, told }) {
  if (told === 'sum') return write(values.reduce((sum, value) => sum + (value ?? 0), 0));
  const last = values.findLast((value) => value != null);
  return told === 'last' && last != null ? write(last) : '';
}

// Numbers of the whole time; while a moment is pointed at those of the moment, which is then named.
function showLegend(legend, { span, times, series }, at) {
  replace(
    legend,
    series.map((one) => h('span', {}, h('i', { class: one.thin ? 'thin' : '', style: { color: `var(${one.colour})` } }), one.name, ' ', at == null ? toldOf(one) : one.write(one.values[at]))),
    at != null && h('span', { class: 'moment' }, span === '1h' || span === '24h' ? format.clock(times[at] * 1000, span) : format.dateTime(times[at] * 1000)),
  );
}

function drawn(plot, legend, told) {
  const { span, times, series } = told;
  const [width, height] = [plot.clientWidth || 300, plot.clientHeight || 180];
  const step = (width - LEFT) / Math.max(times.length, 1);
  const x = (at) => LEFT + (at + 0.5) * step;
  const scales = new Map(series.map((one) => [one, one.own ? highest([one]) : highest(series.filter((other) => !other.own))]));
  const y = (one) => (value) => height - FOOT - (value / scales.get(one).most) * (height - FOOT - TOP);
  const cursor = svg('line', { class: 'cursor', y1: TOP, y2: height - FOOT, visibility: 'hidden' });
  const picture = svg(
    'svg',
    { width: '100%', height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' },
    grid(series[0], scales.get(series[0]), y(series[0]), width),
    moments(times, span, x, width, height),
    series.map((one) => svg('g', { style: { color: `var(${one.colour})` }, data: { series: one.name } }, one.bars ? bars(one, x, y(one), step, height) : line(one, x, y(one), height))),
    cursor,
  );
  picture.addEventListener('pointermove', (event) => {
    const at = Math.floor((event.clientX - picture.getBoundingClientRect().left - LEFT) / step);
    const inside = at >= 0 && at < times.length;
    cursor.setAttribute('visibility', inside ? 'visible' : 'hidden');
    for (const end of ['x1', 'x2']) cursor.setAttribute(end, x(at));
    showLegend(legend, told, inside ? at : null);
  });
  picture.addEventListener('pointerleave', () => (cursor.setAttribute('visibility', 'hidden'), showLegend(legend, told, null)));
  return picture;
}

// A round number above all values, and how many equal steps of it are round too.
const ROUND = [[1, 2], [1.5, 3], [2, 4], [3, 3], [4, 4], [6, 3], [8, 4], [10, 2]];

function highest(series) {
  const most = Math.max(...series.flatMap((one) => one.values.map((value) => value ?? 0)), 0) || 1;
  const limit = Math.min(...series.map((one) => one.limit ?? Infinity));
  // What is counted has no halves.
  const least = series.every((one) => one.told) ? 4 : 0;
  const above = Math.max(Math.min(most * 1.02, limit), least);
  const size = 10 ** Math.floor(Math.log10(above));
  const [times, steps] = ROUND.find(([round]) => round * size >= above) ?? ROUND.at(-1);
  return { most: times * size, steps };
}

function grid(first, { most, steps }, y, width) {
  return Array.from({ length: steps + 1 }, (_, at) => (most * at) / steps).map((value) => [
    svg('line', { class: 'grid', x1: LEFT, x2: width, y1: y(value), y2: y(value) }),
    svg('text', { class: 'tick', x: LEFT - 6, y: y(value) + 4, 'text-anchor': 'end' }, first.write(value)),
  ]);
}

function moments(times, span, x, width, height) {
  const every = Math.max(Math.ceil(times.length / Math.max(Math.floor((width - LEFT) / WIDE), 1)), 1);
  return times.map((time, at) => (at % every === Math.floor(every / 2) ? svg('text', { class: 'tick', x: x(at), y: height - 5, 'text-anchor': 'middle' }, format.clock(time * 1000, span)) : null)).filter(Boolean);
}

function bars(one, x, y, step, height) {
  const wide = Math.min(step * 0.42, MOST_BAR);
  return one.values.map((value, at) => (value ? svg('rect', { x: x(at) + (one.bars < 0 ? -wide : 0), width: wide, y: y(value), height: height - FOOT - y(value), fill: 'currentColor' }) : null)).filter(Boolean);
}

// The stretches in which something was measured; one of a single moment is a dot.
function line(one, x, y, height) {
  const runs = [];
  one.values.forEach((value, at) => {
    if (value == null) return;
    if (at && one.values[at - 1] != null) runs.at(-1).push([x(at), y(value)]);
    else runs.push([[x(at), y(value)]]);
  });
  const through = (run) => run.map(([px, py], at) => `${at ? 'L' : 'M'}${px.toFixed(1)} ${py.toFixed(1)}`).join('');
  return runs.map((run) => {
    if (run.length === 1) return svg('circle', { cx: run[0][0], cy: run[0][1], r: 2.5, fill: 'currentColor' });
    const path = svg('path', { class: one.thin ? 'thin' : '', d: through(run), fill: 'none', stroke: 'currentColor' });
    const below = one.area && svg('path', { class: 'area', d: `${through(run)}V${height - FOOT}H${run[0][0].toFixed(1)}Z`, fill: 'currentColor' });
    return [below, path].filter(Boolean);
  });
}
