// Signing in: a key is asked for, tried, and kept in this tab alone.
import { Problem, api, keepOnDevice, session } from './api.js';
import { button, busy, field, h, icon, notice, replace } from './parts.js';
import { problem, switches, t } from './shell.js';

export function door({ sentence, onlanguage, onenter }) {
  const key = h('input', { type: 'password', name: 'key', autocomplete: 'off', spellcheck: 'false', autocapitalize: 'none', class: 'mono' });
  const said = h('div', { 'aria-live': 'polite' }, sentence && notice('error', h('p', {}, sentence)));
  const enter = h('button', { class: 'button primary', type: 'submit' }, t('sign.in'));
  const show = button({ label: t('sign.show'), icon: 'eye', text: false, 'aria-pressed': 'false' });
  show.addEventListener('click', () => {
    const hidden = key.type === 'password';
    key.type = hidden ? 'text' : 'password';
    show.setAttribute('aria-pressed', hidden);
  });
  const stay = h('input', { type: 'checkbox', name: 'stay' });
  const kept = h('p', { class: 'muted small' }, t('sign.kept'));
  stay.addEventListener('change', () => (kept.textContent = t(stay.checked ? 'sign.stays' : 'sign.kept')));
  const form = h(
    'form',
    { class: 'card', novalidate: true },
    h('div', { class: 'brand' }, icon('mark', 28), 'memwell'),
    h('div', {}, h('h1', { tabindex: -1 }, t('sign.title')), h('p', { class: 'muted' }, t('app.tagline'))),
    field(t('sign.key'), key, { hint: t('sign.hint') }),
    said,
    enter,
    h('div', {}, h('label', { class: 'check' }, stay, h('span', {}, t('sign.stay'))), kept),
    switches({ onlanguage }),
  );
  key.before(h('div', { class: 'secret' }));
  key.previousSibling.append(key, show);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const given = key.value.trim();
    if (!given) {
      replace(said, notice('error', h('p', {}, t('sign.empty'))));
      key.focus();
      return;
    }
    try {
      const found = await busy(enter, () => tried(given));
      if (stay.checked) keepOnDevice();
      onenter(found);
    } catch (error) {
      replace(said, error.status === 401 ? notice('error', h('p', {}, refusal(error))) : problem(error));
      key.focus();
    }
  });
  queueMicrotask(() => key.focus());
  return h('main', { class: 'door', id: 'content' }, form);
}

// Whoever has the right secret is told that the key has ended; of any other key nothing is said.
export function refusal({ detail = '' }, otherwise = t('sign.wrong')) {
  if (/revoked/.test(detail)) return t('sign.revoked');
  return /expired/.test(detail) ? t('sign.expired') : otherwise;
}

// The key is kept only once the service has accepted it.
export async function tried(key) {
  // What no header can carry is no key.
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Problem({ status: 401, code: 'bad-key' });
  const before = session.key;
  session.key = key;
  try {
    return await api.get('/v1/me');
  } catch (error) {
    session.key = before;
    throw error;
  }
}
