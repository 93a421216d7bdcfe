// Pictures, sounds and films: seen as small pictures, found by what is said of them.
import { path } from '../api.js';
import * as format from '../format.js';
import { language, speaking } from '../language.js';
import { busy, button, dialog, empty, field, h, icon, replace, skeleton } from '../parts.js';
import { dropZone, line, sent } from '../jobs.js';
import { CONFIRM, confirmed, own, save, short, size } from '../more.js';
import { problem, t as shellT } from '../shell.js';
import { signalBars } from '../signals.js';
import words from '../words/documents.js';

const t = speaking(words);
const ASKED = 1000;
const PAGE = 48;
const FOUND = 12;
const SMALL = 3_000_000;

export function media(body, app) {
  const grid = h('div', { class: 'stack' }, skeleton(3, 'block'));
  const uploads = h('ul', { class: 'uploads', 'aria-live': 'polite' });
  const description = h('textarea', { rows: 2, placeholder: t('media.describe.hint') });
  const form = search();
  // Addresses of pictures in memory are given back when the page is left.
  const held = [];
  app.signal.addEventListener('abort', () => held.forEach((href) => URL.revokeObjectURL(href)));

  async function load() {
    try {
      const { items: all } = await app.api.get('/v1/media', { limit: ASKED }, app.signal);
      form.hidden = !all.length;
      if (all.length) listed(all.reverse(), PAGE);
      else replace(grid, empty({ icon: 'eye', title: t('media.none.title'), text: t('media.none.text') }));
    } catch (error) {
      if (error.name !== 'AbortError') replace(grid, problem(error, load));
    }
  }

  function listed(all, most) {
    replace(grid, h('ul', { class: 'media-grid' }, all.slice(0, most).map((one) => h('li', {}, card(one)))), all.length > most && h('div', { class: 'row' }, button({ label: shellT('more'), onclick: () => (listed(all, most + PAGE), grid.querySelectorAll('.medium')[most]?.focus()) })));
  }

  function card(one, why) {
    const picture = h('div', { class: 'picture' }, icon(one.kind === 'image' ? 'eye' : 'file', 28));
    if (one.has_thumbnail) shown(picture, path`/v1/media/${one.id}/thumbnail`, one.description || one.name);
    // Without a package that makes small pictures, the browser makes them of the picture itself, unless that is large.
    else if (one.kind === 'image' && one.size && one.size <= SMALL) shown(picture, path`/v1/media/${one.id}/data`, one.description || one.name);
    else if (one.size) picture.append(h('span', { class: 'small' }, t('media.plain')));
    return h('button', { type: 'button', class: 'medium', data: { id: one.id }, onclick: () => open(one, why) }, picture, h('span', {}, own(short(one.description || one.name || one.text || one.id, 90))), h('span', { class: 'muted small' }, t(`media.${one.kind}`), ' · ', format.ago(one.time), why && ` · ${format.exact(one.score)}`));
  }

  async function shown(box, where, alt) {
    try {
      const href = URL.createObjectURL(await app.api.blob(where, {}, app.signal));
      held.push(href);
      replace(box, h('img', { src: href, alt: alt ?? '' }));
    } catch {
      // The sign stays where the picture would be.
    }
  }

  async function played(box, one) {
    try {
      const href = URL.createObjectURL(await app.api.blob(path`/v1/media/${one.id}/data`, {}, app.signal));
      held.push(href);
      replace(box, h(one.kind === 'video' ? 'video' : 'audio', { src: href, controls: true, preload: 'metadata', 'aria-label': one.description || one.name }));
    } catch {
      // The sign stays; the file can still be saved.
    }
  }

  function open(one, why) {
    const picture = h('div', { class: 'picture large' }, icon(one.kind === 'image' ? 'eye' : 'file', 40));
    if (one.kind === 'image' && one.size) shown(picture, path`/v1/media/${one.id}/data`, one.description);
    else if (one.size) played(picture, one);
    const get = button({ label: t('media.save'), icon: 'download', small: true, disabled: !one.size });
    get.addEventListener('click', async () => {
      try {
        save(await busy(get, () => app.api.blob(path`/v1/media/${one.id}/data`, {}, app.signal)), one.name || one.id);
      } catch (error) {
        app.failed(error);
      }
    });
    const remove = app.gated(button({ label: t('remove'), icon: 'trash', kind: 'danger', small: true, onclick: () => removing(one, () => drawer.close()) }), 'erase');
    const drawer = dialog(
      { title: t(`media.${one.kind}`), kind: 'drawer', closing: shellT('close') },
      picture,
      h('p', { class: 'full-text' }, own(one.description || one.text)),
      why && h('div', { class: 'stack' }, h('p', {}, h('b', {}, t('why'), ' '), why), signalBars(one.signals, { ...one, why })),
      h('dl', { class: 'facts-list' }, rows(one).map(([name, value]) => [h('dt', {}, name), h('dd', {}, own(value))])),
      h('div', { class: 'row' }, get, remove),
    );
  }

  function rows(one) {
    return [
      one.name && [t('name'), one.name],
      [t('added'), format.dateTime(one.time)],
      one.speaker && [t('media.speaker'), one.speaker],
      one.session && [t('media.session'), one.session],
      one.size > 0 && [t('media.size'), size(one.size)],
      one.width && [t('media.measure'), `${one.width} × ${one.height}`],
      one.duration_s && [t('media.length'), format.duration(one.duration_s)],
      one.transcript && [t('media.transcript'), one.transcript],
    ].filter(Boolean);
  }

  function removing(one, done) {
    confirmed({
      title: t('media.remove.title'),
      text: t('media.remove.text'),
      word: CONFIRM(),
      go: t('remove'),
      work: async () => {
        await app.api.post('/v1/media/erase', { ids: [one.id] });
        app.toast(t('media.removed'));
        done();
        load();
      },
    });
  }

  async function take(file) {
    const told = line(file.name);
    uploads.prepend(told.node);
    if (!file.size) return void told.refused(t('empty.file'));
    told.sending(0);
    try {
      await sent('/v1/media', { name: file.name, description: description.value.trim() || null }, file, { onprogress: told.sending, signal: app.signal });
      told.done(t('media.taken'));
      description.value = '';
      load();
    } catch (error) {
      if (error.name !== 'AbortError') told.failed(error);
    }
  }

  function search() {
    const query = h('input', { type: 'search', 'aria-label': t('media.search'), placeholder: t('media.search'), autocomplete: 'off', data: { search: '' } });
    const go = h('button', { class: 'button primary', type: 'submit' }, t('media.find'));
    const made = h('form', { class: 'search', role: 'search', hidden: true }, h('div', { class: 'box' }, icon('search'), query), go);
    made.addEventListener('submit', async (event) => {
      event.preventDefault();
      if (!query.value.trim()) return load();
      try {
        const found = await busy(go, () => app.api.post('/v1/media/recall', { query: query.value.trim(), limit: FOUND, language: language() }, app.signal));
        replace(grid, found.items.length ? h('ul', { class: 'media-grid' }, found.items.map((one) => h('li', {}, card(one, one.why)))) : empty({ icon: 'search', title: t('missed'), text: t('missed.text') }));
      } catch (error) {
        if (error.name !== 'AbortError') replace(grid, problem(error));
      }
    });
    query.addEventListener('input', () => query.value || load());
    return made;
  }

  replace(
    body,
    form,
    h('div', { class: 'boxes' }, dropZone(app, { title: t('media.drop'), hint: t('media.drop.hint'), label: t('drop.choose'), accept: 'image/*,audio/*,video/*', multiple: false, onfiles: ([file]) => take(file) }), h('div', { class: 'card stack' }, field(t('media.describe'), description, { hint: t('media.describe.why') }))),
    uploads,
    grid,
  );
  load();
}
