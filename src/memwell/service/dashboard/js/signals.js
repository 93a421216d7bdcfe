// Why a memory was found: the shares of its signals as small bars, to the right what speaks for it, to the left against.
import * as format from './format.js';
import { speaking } from './language.js';
import { button, h, replace, svg } from './parts.js';
import words from './words/signals.js';

const t = speaking(words);
const FEW = 6;
const TINY = 0.0005;

export function nameOf(signal) {
  // A newer service may know signals that this page does not.
  return signal in words.en ? t(signal) : signal;
}

// `signals` is { name: { share } } as a recall gives them, or { name: share } as a receipt does.
export function shares(signals) {
  return Object.entries(signals ?? {})
    .map(([name, signal]) => [name, typeof signal === 'number' ? signal : signal.share])
    .filter(([, share]) => Math.abs(share) >= TINY)
    .sort((one, other) => Math.abs(other[1]) - Math.abs(one[1]));
}

// The least and the most of several hits, so that their bars can be compared.
export function scaleOf(hits) {
  const all = hits.flatMap((hit) => shares(hit.signals).map(([, share]) => share));
  return [Math.min(0, ...all), Math.max(0, ...all)];
}

export function signalBars(signals, { few = FEW, scale = scaleOf([{ signals }]) } = {}) {
  const all = shares(signals);
  const box = h('div', { class: 'signals-box' });
  const draw = (whole) => {
    const told = whole || all.length <= few + 1 ? all : all.slice(0, few);
    const rest = all.slice(told.length).reduce((sum, [, share]) => sum + share, 0);
    replace(
      box,
      bars(told.map(([name, share]) => [nameOf(name), share]), scale),
      all.length > few + 1 &&
        button({
          label: whole ? t('fewer') : t('all', { count: all.length - told.length, sum: format.signed(rest) }),
          kind: 'quiet',
          small: true,
          'aria-expanded': whole,
          onclick: () => (draw(!whole), box.querySelector('button').focus()),
        }),
    );
  };
  draw(false);
  return box;
}

function bars(rows, [least, most]) {
  const place = (share) => (100 * (share - least)) / (most - least || 1);
  return h(
    'ul',
    { class: 'signals', 'aria-label': t('label') },
    rows.map(([name, share]) =>
      h(
        'li',
        {},
        h('span', { class: 'name' }, name),
        bar(share, place),
        h('span', { class: `value${share < 0 ? ' against' : ''}` }, format.signed(share)),
      ),
    ),
  );
}

function bar(share, place) {
  const [from, to] = [place(0), place(share)];
  return svg(
    'svg',
    { 'aria-hidden': 'true', preserveAspectRatio: 'none' },
    svg('line', { class: 'bar-zero', x1: `${from}%`, x2: `${from}%`, y1: 0, y2: 9 }),
    svg('rect', {
      class: share < 0 ? 'bar-against' : 'bar-for',
      x: `${Math.min(from, to)}%`,
      width: `${Math.max(Math.abs(to - from), 0.8)}%`,
      y: 1,
      height: 7,
      rx: 2,
    }),
  );
}
