// A strip of time: how much was said when, counted by the service, to be zoomed by dragging, by buttons and by the keyboard.
import * as format from './format.js';
import { locale, speaking } from './language.js';
import { button, h, replace, svg } from './parts.js';
import words from './words/strip.js';

const t = speaking(words);
const HEIGHT = 150;
const BARS = 96;
const FOOT = 24;
const LANES = 26;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
// How wide a tick may be: from hours to years, whatever leaves room for its name.
const STEPS = [[HOUR, 'hour'], [3 * HOUR, 'hour'], [6 * HOUR, 'hour'], [DAY, 'day'], [2 * DAY, 'day'], [7 * DAY, 'day'], [30.44 * DAY, 'month'], [91.3 * DAY, 'month'], [365.25 * DAY, 'year'], [5 * 365.25 * DAY, 'year']];

// `first` is the activity of the whole time, `ask({ since, until, steps })` that of a part; `marks` are [{ kind, at }].
export function strip({ app, first, marks, ask, onrange }) {
  const range = svg('rect', { class: 'picked', y: 0, height: HEIGHT - FOOT, width: 0 });
  const drawing = svg('g', {});
  const picture = svg('svg', { class: 'strip', role: 'group', tabindex: 0, 'aria-label': t('strip.label') }, drawing, range);
  const label = h('span', { class: 'number', role: 'status' });
  const [least, most] = ends(first);
  let view = [least, most];
  let counted = { from: Date.parse(first.since), to: Date.parse(first.until), counts: first.counts };
  let asked = 0;

  const control = (key, name, work) => button({ label: t(key), small: true, text: false, icon: name, onclick: work });
  const tools = h(
    'div',
    { class: 'row between' },
    label,
    h(
      'div',
      { class: 'row' },
      glyph('strip.back', '←', () => pan(-0.5)),
      glyph('strip.on', '→', () => pan(0.5)),
      control('strip.in', 'plus', () => zoom(0.5)),
      glyph('strip.out', '−', () => zoom(2)),
      button({ label: t('strip.whole'), small: true, onclick: () => set(least, most) }),
    ),
  );
  const legend = h('div', { class: 'legend' }, ['said', 'began', 'ended'].map((kind) => h('span', {}, h('i', { class: `e-${kind}` }), h('span', { class: 'plain' }, t(`legend.${kind}`)))));
  const node = h('div', { class: 'stack' }, tools, picture, legend, h('p', { class: 'hint' }, t('strip.hint')));

  function glyph(key, sign, work) {
    return h('button', { type: 'button', class: 'button small only-icon', 'aria-label': t(key), title: t(key), onclick: work }, sign);
  }

  function set(from, to) {
    const width = Math.max(to - from, 2 * HOUR);
    const middle = (from + to) / 2;
    view = [middle - width / 2, middle + width / 2];
    draw();
    count();
    onrange(...view);
  }

  // The bars of a closer look are counted again; until then those of before stand in their place.
  async function count() {
    const number = (asked += 1);
    const [from, to] = view;
    const found = await ask({ since: new Date(from).toISOString(), until: new Date(to).toISOString(), steps: BARS }).catch(() => null);
    if (!found || number !== asked) return;
    counted = { from, to, counts: found.counts };
    picture.dataset.total = found.total;
    draw();
  }

  function zoom(by, at = (view[0] + view[1]) / 2) {
    const whole = (most - least) * 1.02;
    const width = Math.min((view[1] - view[0]) * by, whole);
    const share = (at - view[0]) / (view[1] - view[0]);
    const from = at - width * share;
    set(from, from + width);
  }

  function pan(by) {
    const width = view[1] - view[0];
    const from = Math.min(Math.max(view[0] + by * width, least - width / 2), most - width / 2);
    set(from, from + width);
  }

  function draw() {
    const width = picture.clientWidth || 800;
    picture.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
    picture.dataset.from = String(Math.round(view[0]));
    picture.dataset.to = String(Math.round(view[1]));
    label.textContent = t('range', { from: format.date(view[0]), to: format.date(view[1]) });
    const place = (time) => ((time - view[0]) / (view[1] - view[0])) * width;
    replace(drawing, ticks(view, width, place), columns(counted, place), spots(marks, view, place), svg('line', { class: 'axis', x1: 0, x2: width, y1: HEIGHT - FOOT, y2: HEIGHT - FOOT }));
  }

  picture.addEventListener('keydown', (event) => {
    const work = { ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25), ArrowUp: () => zoom(0.5), ArrowDown: () => zoom(2), '+': () => zoom(0.5), '-': () => zoom(2), Home: () => set(least, most), End: () => set(most - (view[1] - view[0]), most) }[event.key];
    if (!work) return;
    event.preventDefault();
    work();
  });
  dragged(picture, range, (from, to) => {
    const width = picture.clientWidth;
    const time = (x) => view[0] + (x / width) * (view[1] - view[0]);
    set(time(from), time(to));
  });
  const watch = new ResizeObserver(draw);
  app.signal.addEventListener('abort', () => watch.disconnect());

  return {
    node,
    start: () => (watch.observe(picture), set(least, most)),
  };
}

function ends({ since, until }) {
  const [from, to] = [Date.parse(since), Date.parse(until)];
  const edge = Math.max((to - from) * 0.02, HOUR);
  return [from - edge, to + edge];
}

// Dragging picks a range; a touch that moves up or down still scrolls the page.
function dragged(picture, range, picked) {
  let begun = null;
  const x = (event) => Math.min(Math.max(event.clientX - picture.getBoundingClientRect().left, 0), picture.clientWidth);
  picture.addEventListener('pointerdown', (event) => {
    begun = x(event);
    picture.setPointerCapture(event.pointerId);
  });
  picture.addEventListener('pointermove', (event) => {
    if (begun == null) return;
    range.setAttribute('x', Math.min(begun, x(event)));
    range.setAttribute('width', Math.abs(x(event) - begun));
  });
  const end = (event) => {
    if (begun == null) return;
    const [from, to] = [Math.min(begun, x(event)), Math.max(begun, x(event))];
    begun = null;
    range.setAttribute('width', 0);
    if (event.type === 'pointerup' && to - from > 8) picked(from, to);
  };
  picture.addEventListener('pointerup', end);
  picture.addEventListener('pointercancel', end);
}

function columns({ from, to, counts }, place) {
  const high = Math.max(...counts, 1);
  const room = HEIGHT - FOOT - LANES - 6;
  const step = (to - from) / (counts.length || 1);
  return counts.map((value, at) => {
    if (!value) return null;
    const tall = Math.max((value / high) * room, 3);
    const [left, right] = [place(from + at * step), place(from + (at + 1) * step)];
    return svg('rect', { class: 'e-said', x: left + 0.5, width: Math.max(right - left - 1, 1), y: HEIGHT - FOOT - tall, height: tall, rx: 2 }, svg('title', {}, t('column', { date: format.dateTime(from + at * step), count: value })));
  });
}

function spots(marks, [from, to], place) {
  return marks
    .filter((mark) => mark.at >= from && mark.at <= to)
    .slice(0, 400)
    .map((mark) => svg('circle', { class: `e-${mark.kind}`, cx: place(mark.at), cy: mark.kind === 'began' ? 7 : 19, r: 4 }, svg('title', {}, `${t(mark.kind)} · ${format.date(mark.at)}`)));
}

function ticks([from, to], width, place) {
  const fits = Math.max(Math.floor(width / 92), 2);
  const [step, kind] = STEPS.find(([size]) => (to - from) / size <= fits) ?? STEPS.at(-1);
  const found = [];
  for (let at = floored(from, step, kind); at <= to && found.length < 40; at = next(at, step, kind)) if (at >= from) found.push(at);
  return found.map((at) => [
    svg('line', { class: 'grid', x1: place(at), x2: place(at), y1: 0, y2: HEIGHT - FOOT }),
    svg('text', { class: 'tick', x: Math.min(place(at) + 3, width - 62), y: HEIGHT - 7 }, nameOf(at, kind)),
  ]);
}

function floored(time, step, kind) {
  const at = new Date(time);
  if (kind === 'year') return new Date(at.getFullYear(), 0, 1).getTime();
  if (kind === 'month') return new Date(at.getFullYear(), at.getMonth() - (step > 40 * DAY ? at.getMonth() % 3 : 0), 1).getTime();
  const day = new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime();
  return kind === 'day' ? day : day + Math.floor((time - day) / step) * step;
}

function next(time, step, kind) {
  const at = new Date(time);
  if (kind === 'year') return new Date(at.getFullYear() + Math.round(step / (365 * DAY)), 0, 1).getTime();
  if (kind === 'month') return new Date(at.getFullYear(), at.getMonth() + Math.round(step / (30 * DAY)), 1).getTime();
  if (kind === 'day') return new Date(at.getFullYear(), at.getMonth(), at.getDate() + Math.round(step / DAY)).getTime();
  return time + step;
}

function nameOf(at, kind) {
  const options = { year: { year: 'numeric' }, month: { year: 'numeric', month: 'short' }, day: { month: 'short', day: 'numeric' }, hour: { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } }[kind];
  return new Intl.DateTimeFormat(locale(), options).format(at);
}
