// A prompt as it is shown: its messages, what its tokens went to, and its receipt.
import { path } from './api.js';
import * as format from './format.js';
import { speaking } from './language.js';
import { badge, h, svg, table } from './parts.js';
import { copyButton } from './shell.js';
import { reasonNames } from './signals.js';
import words from './words/playground.js';

const t = speaking(words);
const KINDS = ['system', 'profile', 'message', 'memory', 'document', 'query', 'frame'];
const MOST_FETCHED = 24;
const SHORT = 140;

const known = (key) => (key in words.en ? t(key) : key.split('.')[1]);

export function messages(prompt) {
  return h(
    'section',
    { class: 'card stack' },
    h('div', { class: 'row between' }, h('h2', {}, t('prompt')), copyButton(() => JSON.stringify(prompt.openai, null, 2), t('copy'))),
    prompt.messages.map((message) =>
      h(
        'div',
        { class: 'message' },
        h('header', {}, known(`role.${message.role}`), message.tokens != null && h('span', {}, t('tokens', { count: format.number(message.tokens) }))),
        h('pre', {}, textOf(message)),
      ),
    ),
  );
}

function textOf(message) {
  return message.parts.map((part) => part.text ?? `[${part.type}]`).join('\n');
}

export function tokenBar(prompt) {
  const used = KINDS.map((kind) => [kind, sizeOf(prompt.receipt, kind)]).filter(([, tokens]) => tokens);
  let at = 0;
  const part = ([kind, tokens]) => {
    const x = (100 * at) / prompt.budget;
    at += tokens;
    return svg(
      'rect',
      { class: `k-${kind}`, x: `${x}%`, width: `${(100 * tokens) / prompt.budget}%`, height: 18 },
      svg('title', {}, `${t(`kind.${kind}`)}: ${format.number(tokens)}`),
    );
  };
  const told = used.map(([kind, tokens]) => `${t(`kind.${kind}`)} ${format.number(tokens)}`);
  return h(
    'section',
    { class: 'card stack tokens' },
    h(
      'div',
      { class: 'row between' },
      h('h2', { class: 'number' }, t('used', { tokens: format.number(prompt.tokens), budget: format.number(prompt.budget) })),
      h('span', { class: 'muted small' }, t('encoding', { encoding: prompt.receipt.encoding })),
    ),
    svg('svg', { role: 'img', 'aria-label': told.join(', ') }, svg('rect', { class: 'track', width: '100%', height: 18 }), used.map(part)),
    h(
      'div',
      { class: 'legend' },
      used.map(([kind, tokens]) => h('span', {}, h('i', { class: `k-${kind}` }), h('span', { class: 'plain' }, `${t(`kind.${kind}`)} ${format.number(tokens)}`))),
      h('span', {}, `${t('free')} ${format.number(Math.max(prompt.budget - prompt.tokens, 0))}`),
      prompt.receipt.earlier > 0 && h('span', {}, t('earlier', { count: prompt.receipt.earlier })),
    ),
  );
}

function sizeOf(receipt, kind) {
  return (receipt.entered ?? []).filter((one) => one.kind === kind).reduce((sum, one) => sum + one.tokens, 0);
}

// `passages` names the pieces of documents, { id: { place, text } }, and `profile` whose portrait went in: a receipt has neither.
export function receipt(prompt, app, { passages = new Map(), profile = '' } = {}) {
  const { entered = [], left_out: left = [], id } = prompt.receipt;
  const texts = fetched(app, [...entered, ...left]);
  const named = { texts, prompt, passages, profile };
  return h(
    'section',
    { class: 'card stack receipt' },
    h('div', { class: 'row between' }, h('h2', {}, t('receipt')), id && h('span', { class: 'muted small mono' }, t('receipt.id', { id }))),
    h('h3', {}, t('entered')),
    table(
      ['what', 'content.why', 'size', 'score'].map((key) => t(key)),
      entered.map((one) => [label(one), [content(one, named), reasons(one.signals)], format.number(one.tokens), one.score ? format.exact(one.score) : '']),
      { label: t('entered') },
    ),
    h('h3', {}, t('left')),
    left.length
      ? table(
          ['what', 'content.why'].map((key) => t(key)),
          left.map((one) => [label(one), [content(one, named), h('div', { class: 'muted small why' }, known(`reason.${one.reason}`))]]),
          { label: t('left') },
        )
      : h('p', { class: 'muted' }, t('left.none')),
  );
}

function label(one) {
  return h('span', { class: 'row' }, h('span', { class: 'legend' }, h('span', {}, h('i', { class: `k-${one.kind}` }), h('span', { class: 'plain' }, known(`kind.${one.kind}`)))), one.cut && badge(t('cut'), 'warn'));
}

function reasons(signals) {
  const names = reasonNames(signals);
  return names && h('div', { class: 'muted small why' }, names);
}

// A receipt holds numbers only. The texts of its memories are asked for one by one, and come when they come.
function fetched(app, all) {
  const ids = [...new Set(all.filter((one) => one.kind === 'memory' && one.id).map((one) => one.id))].slice(0, MOST_FETCHED);
  return new Map(
    ids.map((id) => [id, app.api.get(path`/v1/memories/${id}`, {}, app.signal).then((found) => found.text, () => t('gone'))]),
  );
}

function content(one, { texts, prompt, passages, profile }) {
  if (one.kind === 'memory' && one.id) {
    const link = h('a', { href: `#/memories/${encodeURIComponent(one.id)}`, translate: 'no' }, one.id.slice(0, 12));
    texts.get(one.id)?.then((text) => (link.textContent = short(text)));
    return link;
  }
  if (passages.has(one.id)) {
    const { place, text } = passages.get(one.id);
    return h('div', { translate: 'no' }, h('strong', {}, place), h('div', { class: 'muted small' }, short(text)));
  }
  if (one.kind === 'profile') return h('span', { translate: 'no' }, profile);
  const message = prompt.messages.find((each) => each.id === one.id);
  if (message) return h('span', { translate: 'no' }, short(textOf(message)));
  // What has no name of its own is told by its kind already.
  return one.id === one.kind ? '' : h('span', { class: 'muted', title: one.id, translate: 'no' }, one.id.slice(0, 24));
}

function short(text) {
  const line = text.replace(/\s+/g, ' ');
  return line.length > SHORT ? `${line.slice(0, SHORT)}…` : line;
}
