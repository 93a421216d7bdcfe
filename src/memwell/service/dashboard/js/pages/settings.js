// Settings: everything in and out as files, the keys, the log of what was done with them, and who else may see this memory.
import { keepOnDevice, path, session } from '../api.js';
import * as format from '../format.js';
import { speaking } from '../language.js';
import { badge, busy, button, choice, dialog, field, h, notice, replace, skeleton, table, tabs } from '../parts.js';
import { confirmed, own } from '../more.js';
import { shortId } from '../names.js';
import { copyButton, pageHead, problem, t as shellT } from '../shell.js';
import words from '../words/keys.js';
import { data } from './data.js';
import { grants } from './grants.js';
import { allKeys, log } from './log.js';

const t = speaking(words);
const BUNDLES = { reader: ['read'], app: ['read', 'write'], owner: ['read', 'write', 'erase'], backend: ['read', 'write', 'erase', 'spaces'], operator: ['read', 'write', 'erase', 'admin'] };
const SCOPES = [...BUNDLES.operator, 'spaces'];
const TABS = ['data', 'keys', 'log', 'grants'];
const ADMIN_TABS = ['keys', 'log'];

export function show(root, app, where) {
  const options = TABS.filter((one) => app.can('admin') || !ADMIN_TABS.includes(one));
  const tab = options.includes(where.query.get('tab')) ? where.query.get('tab') : options[0];
  const body = h('div', { class: 'stack' });
  const choose = tabs({ label: t('tabs'), options: options.map((one) => [one, t(`tab.${one}`)]), value: tab, onchange: (one) => app.go('settings', { tab: one === options[0] ? null : one }) });
  root.append(pageHead(t('title'), t('lead')), h('div', { class: 'stack' }, choose, body));
  ({ data, keys, log, grants })[tab](body, app);
}

function keys(body, app) {
  const list = h('section', { class: 'card', id: 'keys-list' }, skeleton(4));
  const make = button({ label: t('new'), icon: 'plus', kind: 'primary', onclick: () => creating(app, load) });
  replace(body, h('div', { class: 'row' }, make), list);
  load();

  async function load() {
    try {
      const all = await allKeys(app);
      const rank = (key) => (stateOf(key) === 'alive' ? 0 : 1);
      all.sort((one, other) => rank(one) - rank(other) || Date.parse(other.created) - Date.parse(one.created));
      replace(list, h('h2', {}, t('count', { count: all.length })), table(['name', 'space', 'scopes', 'state', 'used', 'rate', 'actions'].map((key) => t(key)), all.map((key) => row(app, key, load, isLast(all, key))), { label: t('tab.keys'), classes: 'wide cards' }));
    } catch (error) {
      if (error.name !== 'AbortError') replace(list, problem(error, load));
    }
  }
}

function stateOf(key) {
  if (key.revoked) return 'revoked';
  return key.expires && Date.parse(key.expires) <= Date.now() ? 'expired' : 'alive';
}

// The last key that may make others: without it only the command line can.
function isLast(all, key) {
  return key.scopes.includes('admin') && !all.some((one) => one.id !== key.id && one.scopes.includes('admin') && stateOf(one) === 'alive');
}

function row(app, key, load, last) {
  const state = stateOf(key);
  const mine = key.id === app.me.key.id;
  const until = key.revoked ?? key.expires;
  return [
    h('div', {}, h('strong', {}, own(key.name)), mine && [' ', badge(t('mine'), 'accent')], h('div', { class: 'muted small' }, shortId(key.id))),
    own(key.space.join(' / ')),
    h('span', { class: 'badges' }, key.scopes.map((scope) => badge(shellT(`scope.${scope}`), scope === 'admin' ? 'warn' : ''))),
    h('div', {}, badge(t(`state.${state}`), state === 'alive' ? 'accent' : 'bad'), until && h('div', { class: 'muted small' }, t(state === 'alive' ? 'ends' : 'ended', { date: format.date(until) }))),
    key.last_used ? h('time', { datetime: key.last_used, title: format.dateTime(key.last_used) }, format.ago(key.last_used)) : t('never'),
    key.rate == null ? t('rate.default') : key.rate === 0 ? t('rate.any') : t('rate.each', { count: format.number(key.rate) }),
    state === 'alive' ? h('span', { class: 'row' }, button({ label: t('rotate'), icon: 'refresh', text: false, small: true, onclick: () => rotating(app, key, load) }), button({ label: t('revoke'), icon: 'trash', text: false, small: true, kind: 'danger', onclick: () => revoking(app, key, { mine, last }, load) })) : '',
  ];
}

function creating(app, load) {
  const name = h('input', { required: true, autocomplete: 'off' });
  const space = h('input', { required: true, value: app.me.key.space.join('/'), autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false' });
  const days = h('input', { type: 'number', min: 0, step: 'any' });
  const rate = h('input', { type: 'number', min: 0 });
  const boxes = SCOPES.map((scope) => [scope, h('input', { type: 'checkbox', checked: BUNDLES.app.includes(scope) })]);
  const bundle = choice({ label: t('bundle'), value: 'app', options: Object.keys(BUNDLES).map((one) => [one, t(`bundle.${one}`)]), onchange: (one) => boxes.forEach(([scope, box]) => (box.checked = BUNDLES[one].includes(scope))) });
  const go = h('button', { class: 'button primary', type: 'submit' }, t('create'));
  const out = h('div', {});
  const form = h(
    'form',
    { class: 'stack', id: 'new-key' },
    field(t('name'), name, { hint: t('name.hint') }),
    field(t('space'), space, { hint: t('space.hint') }),
    h('div', { class: 'field' }, h('span', { class: 'label', 'aria-hidden': 'true' }, t('bundle')), h('div', {}, bundle)),
    h('fieldset', { class: 'scopes' }, h('legend', { class: 'unseen' }, t('scopes')), boxes.map(([scope, box]) => h('label', { class: 'check' }, box, h('span', {}, h('b', {}, shellT(`scope.${scope}`)), ' ', h('span', { class: 'muted' }, t(`scope.${scope}.what`)))))),
    h('div', { class: 'fields' }, field(t('days'), days, { hint: t('days.hint') }), field(t('rate'), rate, { hint: t('rate.hint') })),
    out,
    h('div', { class: 'row' }, go, button({ label: shellT('cancel'), onclick: () => asking.close() })),
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const asked = { name: name.value.trim(), space: space.value.split('/').map((part) => part.trim()).filter(Boolean), scopes: boxes.filter(([, box]) => box.checked).map(([scope]) => scope) };
    if (days.value) asked.expires_days = Number(days.value);
    if (rate.value) asked.rate = Number(rate.value);
    try {
      const made = await busy(go, () => app.api.post('/v1/keys', asked));
      asking.close();
      once(made);
      load();
    } catch (error) {
      replace(out, problem(error));
    }
  });
  const asking = dialog({ title: t('new'), closing: shellT('close') }, form);
  name.focus();
}

// The token is seen this once; afterwards the service itself does not know it.
function once({ key, token }) {
  const shown = h('pre', { class: 'code token', tabindex: 0 }, token);
  dialog({ title: t('once', { name: key.name }), closing: shellT('close') }, notice('warn', t('once.text')), shown, h('div', { class: 'row' }, copyButton(token)));
  shown.focus();
}

function rotating(app, key, load) {
  const grace = h('input', { type: 'number', min: 0, step: 'any', value: 60 });
  const go = h('button', { class: 'button primary', type: 'submit' }, t('rotate'));
  const out = h('div', {});
  const form = h('form', { class: 'stack' }, h('p', {}, t('rotate.text')), field(t('grace'), grace, { hint: t('grace.hint') }), out, h('div', { class: 'row' }, go, button({ label: shellT('cancel'), onclick: () => asking.close() })));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    try {
      const made = await busy(go, () => app.api.post(path`/v1/keys/${key.id}/rotate`, { grace_minutes: Number(grace.value) || 0 }));
      // This page goes on with the new token of its own key.
      if (key.id === app.me.key.id) {
        session.key = made.token;
        keepOnDevice({ again: true });
      }
      asking.close();
      once(made);
      load();
    } catch (error) {
      replace(out, problem(error));
    }
  });
  const asking = dialog({ title: t('rotate.title', { name: key.name }), closing: shellT('close') }, form);
}

function revoking(app, key, { mine, last }, load) {
  confirmed({
    title: t('revoke.title', { name: key.name }),
    text: [mine ? t('revoke.mine') : t('revoke.text'), last && t('revoke.last')].filter(Boolean).join(' '),
    word: mine || last ? t('revoke.word') : undefined,
    go: t('revoke'),
    work: async () => {
      await app.api.act(path`/v1/keys/${key.id}/revoke`);
      app.toast(t('revoked'));
      load();
    },
  });
}
