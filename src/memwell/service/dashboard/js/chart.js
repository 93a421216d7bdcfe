// Trends over time. uPlot draws them; it is fetched when the first chart is.
import * as format from './format.js';
import { h, replace } from './parts.js';

const VENDOR = new URL('../vendor/uplot/', import.meta.url);
const FEW = 12;
let fetched = null;

// uPlot's small build is a plain script with one global name.
function uplot() {
  fetched ??= new Promise((resolve, reject) => {
    document.head.append(h('link', { rel: 'stylesheet', href: new URL('uPlot.min.css', VENDOR).href }));
    const script = h('script', { src: new URL('uPlot.iife.min.js', VENDOR).href, onload: () => resolve(window.uPlot) });
    script.addEventListener('error', () => {
      fetched = null;
      reject(new Error('uPlot could not be loaded'));
    });
    document.head.append(script);
  });
  return fetched;
}

// A chart that can be told new figures: { node, update({ span, times, series }), stop }.
// `series` is [{ name, colour: '--c1', values, write: number => text, told: 'sum' | 'last' | null, bars: 0 | -1 | 1 }]: what
// of it stands in the legend as long as nothing is pointed at, and on which side of a moment its bars stand.
export function trend({ title, quiet, signal }) {
  const legend = h('div', { class: 'legend', 'aria-hidden': 'true' });
  const plot = h('div', { class: 'plot', role: 'img' });
  const node = h('section', { class: 'card chart' }, h('div', { class: 'chart-head' }, h('h2', {}, title), legend), plot);
  const state = { drawn: null, told: null, shape: '' };
  const again = () => state.told && paint(state, plot, legend, title, quiet, true);
  const watch = new ResizeObserver(() => state.drawn?.setSize({ width: plot.clientWidth, height: plot.clientHeight }));
  watch.observe(plot);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  dark.addEventListener('change', again, { signal });
  addEventListener('memwell:theme', again, { signal });
  signal.addEventListener('abort', () => (watch.disconnect(), state.drawn?.destroy(), (state.drawn = null)));
  const update = async (told) => {
    state.told = told;
    state.make = await uplot();
    if (!signal.aborted) paint(state, plot, legend, title, quiet, false);
  };
  return { node, update };
}

function paint(state, plot, legend, title, quiet, anew) {
  const { span, times, series } = state.told;
  const something = series.some((one) => one.values.some((value) => value != null && value !== 0));
  const data = [times, ...series.map((one) => one.values)];
  plot.setAttribute('aria-label', `${title}: ${series.map((one) => `${one.name} ${toldOf(one)}`.trim()).join(', ')}`);
  showLegend(legend, state.told, null);
  const shape = `${span} ${series.map((one) => one.name).join()} ${something}`;
  if (state.drawn && !anew && shape === state.shape) {
    state.drawn.setData(data);
    return;
  }
  state.shape = shape;
  state.drawn?.destroy();
  state.drawn = null;
  replace(plot, !something && h('p', { class: 'quiet' }, quiet));
  if (something) state.drawn = new state.make(options(plot, legend, state.told, state.make.paths), data, plot);
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
    series.map((one) =>
      h('span', {}, h('i', { class: one.thin ? 'thin' : '', style: { color: `var(${one.colour})` } }), one.name, ' ', at == null ? toldOf(one) : one.write(one.values[at])),
    ),
    at != null && h('span', { class: 'moment' }, span === '1h' || span === '24h' ? format.clock(times[at] * 1000, span) : format.dateTime(times[at] * 1000)),
  );
}

function options(plot, legend, told, paths) {
  const { span, series } = told;
  const ink = colourOf(plot, '--muted');
  const grid = { stroke: colourOf(plot, '--line'), width: 1 };
  const font = `11.5px ${getComputedStyle(plot).fontFamily}`;
  const axis = { stroke: ink, grid, ticks: { show: false }, font };
  return {
    width: plot.clientWidth,
    height: plot.clientHeight,
    padding: [8, 6, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    // Room for the bars of the first and the last moment.
    scales: { x: { range: (self, least, most) => (series.some((one) => one.bars) ? padded(least, most, told.times) : [least, most]) }, y: { range: (self, least, most) => [0, most > 0 ? most * 1.12 : 1] } },
    axes: [
      { ...axis, space: 64, size: 26, grid: { show: false }, values: (self, ticks) => ticks.map((tick) => format.clock(tick * 1000, span)) },
      { ...axis, space: 34, size: 58, values: (self, ticks) => ticks.map((tick) => series[0].write(tick)) },
    ],
    series: [
      {},
      ...series.map((one) => ({
        stroke: colourOf(plot, one.colour),
        fill: one.solid ? colourOf(plot, one.colour) : one.area ? faded(colourOf(plot, one.colour)) : undefined,
        width: one.bars ? 0 : one.thin ? 1.2 : 1.8,
        dash: one.thin ? [4, 3] : undefined,
        // Where nothing was measured there is no line.
        spanGaps: false,
        paths: one.bars ? paths.bars({ size: [0.5, 22, 3], align: one.bars }) : undefined,
        points: { show: !one.bars, size: 5, filter: () => lonely(one.values) },
      })),
    ],
    hooks: { setCursor: [(self) => showLegend(legend, told, self.cursor.idx)] },
  };
}

// The figures without a neighbour: no line goes through them, so they are dots.
function lonely(values) {
  const places = values.map((value, at) => (value == null ? -1 : at)).filter((at) => at >= 0);
  return places.length < FEW ? places : places.filter((at) => values[at - 1] == null && values[at + 1] == null);
}

function padded(least, most, times) {
  const step = times.length > 1 ? times[1] - times[0] : 60;
  return [least - step, most + step];
}

// A canvas does not know the page's variables, so they are asked of an element.
function colourOf(near, name) {
  const probe = h('span', { hidden: true, style: { color: `var(${name})` } });
  near.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

function faded(colour) {
  return colour.replace('rgb(', 'rgba(').replace(')', ', 0.12)');
}
