// Who else may see this memory, and whose memories this key may see.
import * as format from '../format.js';
import { speaking } from '../language.js';
import { badge, busy, button, field, h, replace, skeleton, table } from '../parts.js';
import { confirmed, own } from '../more.js';
import { problem } from '../shell.js';
import words from '../words/keys.js';

const t = speaking(words);

export function grants(body, app) {
  const list = h('div', { class: 'stack', id: 'grants' }, skeleton(4));
  replace(body, giving(app, load), list);
  load();

  async function load() {
    try {
      const { given, received } = await app.api.get('/v1/grants', {}, app.signal);
      replace(
        list,
        h('section', { class: 'card' }, h('h2', {}, t('given')), given.length ? table(['to', 'may', 'since', 'until', 'actions'].map((key) => t(`grant.${key}`)), given.map((one) => row(app, one, load)), { label: t('given'), classes: 'cards' }) : h('p', { class: 'muted' }, t('given.none'))),
        h('section', { class: 'card' }, h('h2', {}, t('received')), received.length ? table(['from', 'may', 'since', 'until'].map((key) => t(`grant.${key}`)), received.map((one) => [own(one.owner.join(' / ')), may(one), format.date(one.since), one.until ? format.dateTime(one.until) : t('grant.open')]), { label: t('received'), classes: 'cards' }) : h('p', { class: 'muted' }, t('received.none'))),
      );
    } catch (error) {
      if (error.name !== 'AbortError') replace(list, problem(error, load));
    }
  }
}

const may = (grant) => badge(t(grant.write ? 'grant.write' : 'grant.read'), grant.write ? 'warn' : 'accent');

function row(app, grant, load) {
  const end = app.gated(button({ label: t('grant.end'), icon: 'close', small: true, onclick: () => ending(app, grant, load) }), 'write');
  return [own(grant.to.join(' / ')), may(grant), format.date(grant.since), grant.until ? format.dateTime(grant.until) : t('grant.open'), end];
}

function ending(app, grant, load) {
  confirmed({
    title: t('grant.end.title'),
    text: t('grant.end.text', { space: grant.to.join(' / ') }),
    go: t('grant.end'),
    work: async () => {
      await app.api.post('/v1/grants/revoke', { to: grant.to });
      app.toast(t('grant.ended'));
      load();
    },
  });
}

function giving(app, load) {
  const to = h('input', { required: true, autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false', placeholder: 'acme/support' });
  const until = h('input', { type: 'datetime-local' });
  const write = h('input', { type: 'checkbox' });
  const go = app.gated(h('button', { class: 'button primary', type: 'submit' }, t('grant.go')), 'write');
  const out = h('div', {});
  const form = h('form', { class: 'card stack', id: 'give' }, h('h2', {}, t('grant.title')), h('p', { class: 'muted' }, t('grant.text')), h('div', { class: 'fields' }, field(t('grant.to'), to, { hint: t('space.hint') }), field(t('grant.until'), until, { hint: t('grant.until.hint') })), h('div', { class: 'row' }, h('label', { class: 'check' }, write, h('span', {}, t('grant.also'))), go), app.lacking('write'), out);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const asked = { to: to.value.split('/').map((part) => part.trim()).filter(Boolean), write: write.checked };
    if (until.value) asked.until = new Date(until.value).toISOString();
    try {
      await busy(go, () => app.api.post('/v1/grants', asked, app.signal));
      replace(out);
      to.value = until.value = '';
      write.checked = false;
      app.toast(t('grant.given', { space: asked.to.join(' / ') }));
      load();
    } catch (error) {
      if (error.name !== 'AbortError') replace(out, problem(error));
    }
  });
  return form;
}
