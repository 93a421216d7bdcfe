// What narrows the table of memories: the values of their fields, each with how many have it, and a range of days.
import * as format from '../format.js';
import { speaking } from '../language.js';
import { h, icon, replace } from '../parts.js';
import { own } from '../more.js';
import { kindName, speakerName } from '../names.js';
import words from '../words/memories.js';

const t = speaking(words);
const METADATA = 'metadata.';
const FIELDS = ['speaker', 'session', 'kind', 'pinned'];
// Whether an address narrows anything.
export const NARROWING = /(^|&)(speaker|session|kind|pinned|metadata\.|since|until)/;

// What an address narrows by: { field: [values] }. A value in an address is a text; in the metadata it may be another.
function choices(query) {
  const found = {};
  for (const name of new Set(query.keys())) {
    if (FIELDS.includes(name)) found[name] = name === 'pinned' ? [true] : query.getAll(name);
    else if (name.startsWith(METADATA)) found[name] = query.getAll(name).flatMap((text) => [text, ...otherThanText(text)]);
  }
  return found;
}

const otherThanText = (text) => (/^(true|false|-?\d+(\.\d+)?)$/.test(text) ? [JSON.parse(text)] : []);
const dayAfter = (day) => new Date(new Date(`${day}T00:00`).getTime() + 86_400_000 + 7_200_000);

function times(query) {
  const [since, until] = [query.get('since'), query.get('until')];
  const end = until && dayAfter(until);
  // The day itself is still inside, also where a change of the clock makes it longer.
  if (end) end.setHours(0, 0, 0, 0);
  return { since: since ? new Date(`${since}T00:00`).toISOString() : null, until: end ? end.toISOString() : null };
}

// As /v1/browse takes it.
export function narrowed(query) {
  const chosen = choices(query);
  return { ...times(query), chosen: Object.keys(chosen).length ? JSON.stringify(chosen) : null };
}

const PATHS = { speaker: ['memwell', 'speaker'], session: ['memwell', 'session'], pinned: ['memwell', 'pinned'] };

// One filter for each field that is chosen: any of its values.
const fieldFilters = (chosen) => Object.entries(chosen).map(([name, values]) => ({ $or: values.map((value) => ({ $path: PATHS[name] ?? [name.slice(METADATA.length)], $eq: value })) }));

// As a filter, for what is done to all that fits.
export function narrowedFilter(query) {
  const { kind: kinds, ...chosen } = choices(query);
  const { since, until } = times(query);
  const ends = [kinds && { '@kind': { $in: kinds } }, since && { '@time': { $ge: since } }, until && { '@time': { $lt: until } }];
  return { $and: [...fieldFilters(chosen), ...ends.filter(Boolean)] };
}

// As /v1/recall takes it.
export function narrowedRecall(query) {
  const { kind: kinds, ...chosen } = choices(query);
  const all = fieldFilters(chosen);
  const found = { ...(kinds && { kinds }), ...(all.length && { where: all.length > 1 ? { $and: all } : all[0] }) };
  for (const [name, value] of Object.entries(times(query))) if (value) found[name] = value;
  const moment = query.get('as_of');
  if (moment) found.as_of = new Date(moment).toISOString();
  return found;
}

// { node, take(query, facets), known() }: `onchange` is given what changes in the address.
export function filterBar({ onchange }) {
  const menus = h('div', { class: 'menus' });
  const day = (name) => h('input', { type: 'date', 'aria-label': t(name), title: t(name), onchange: (event) => onchange({ [name]: event.target.value }) });
  const [since, until] = [day('since'), day('until')];
  const moment = h('input', { type: 'datetime-local', 'aria-label': t('as_of'), title: t('as_of.hint'), onchange: (event) => onchange({ as_of: event.target.value }) });
  const asOf = h('label', { class: 'as-of', hidden: true }, h('span', { class: 'muted small' }, t('as_of')), moment);
  // On a phone they take the room of the rows, so they are shown when they are asked for.
  const many = h('span', { class: 'number' });
  const shown = h('button', { type: 'button', class: 'button small all-filters', 'aria-expanded': 'false' }, icon('filter', 16), t('filters'), many);
  shown.addEventListener('click', () => shown.setAttribute('aria-expanded', String(node.classList.toggle('all'))));
  const node = h('div', { class: 'facets', role: 'group', 'aria-label': t('filters') }, shown, menus, h('div', { class: 'days' }, since, h('span', { class: 'muted', 'aria-hidden': 'true' }, '–'), until), asOf);
  let known = [];
  // One menu is open at a time, and a click beside it closes it.
  node.addEventListener('toggle', (event) => event.target.open && node.querySelectorAll('details[open]').forEach((one) => one !== event.target && (one.open = false)), true);
  document.addEventListener('click', (event) => event.target.closest?.('.facet') || node.querySelectorAll('details[open]').forEach((one) => (one.open = false)));
  node.addEventListener('keydown', (event) => {
    const menu = event.key === 'Escape' && event.target.closest('details[open]');
    if (menu) (event.preventDefault(), (menu.open = false), menu.querySelector('summary').focus());
  });

  function menu({ field, values, more = 0 }, query) {
    const chosen = query.getAll(field);
    // What was chosen and is no longer among the values can still be taken away.
    const lost = chosen.filter((text) => !values.some((one) => String(one.value) === text)).map((value) => ({ value, count: null }));
    const entry = ({ value, count }) => {
      const box = h('input', { type: 'checkbox', value: String(value), checked: chosen.includes(String(value)) });
      box.addEventListener('change', () => onchange({ [field]: [...chosen.filter((one) => one !== box.value), ...(box.checked ? [box.value] : [])] }));
      return h('label', { class: 'check' }, box, h('span', { class: 'grow' }, valueName(field, value)), h('span', { class: 'muted number' }, count == null ? '' : format.number(count)));
    };
    const name = fieldName(field);
    const open = menus.querySelector(`details[data-field="${CSS.escape(field)}"]`)?.open ?? false;
    return h(
      'details',
      { class: `facet${chosen.length ? ' used' : ''}`, data: { field }, open },
      h('summary', {}, name, chosen.length > 0 && h('span', { class: 'number' }, ` (${chosen.length})`)),
      h('div', { class: 'facet-list' }, [...lost, ...values].map(entry), more > 0 && h('p', { class: 'muted small' }, t('facet.more', { count: format.number(more) }))),
    );
  }

  function take(query, facets) {
    if (facets) known = facets;
    since.value = query.get('since') ?? '';
    until.value = query.get('until') ?? '';
    moment.value = query.get('as_of') ?? '';
    const used = [...query.keys()].filter((name) => NARROWING.test(name) || name === 'as_of').length;
    many.textContent = used ? ` (${used})` : '';
    asOf.hidden = !query.get('q');
    node.hidden = query.get('tab') === 'forgotten';
    const fields = new Set(known.map((one) => one.field));
    const others = [...new Set(query.keys())].filter((name) => (FIELDS.includes(name) || name.startsWith(METADATA)) && name !== 'pinned' && !fields.has(name));
    const pinned = { field: 'pinned', values: [{ value: true, count: null }] };
    const focused = menus.contains(document.activeElement) && [document.activeElement.closest('details')?.dataset.field, document.activeElement.value];
    replace(menus, [...known, ...others.map((field) => ({ field, values: [] })), ...(known.length || query.get('pinned') ? [pinned] : [])].map((one) => menu(one, query)));
    if (focused) [...menus.querySelectorAll(`details[data-field="${CSS.escape(focused[0])}"] input`)].find((one) => one.value === focused[1])?.focus();
  }

  return { node, take, known: () => known.length > 0 };
}

function fieldName(field) {
  return field.startsWith(METADATA) ? own(field.slice(METADATA.length)) : t(field === 'pinned' ? 'facet.pinned' : field);
}

function valueName(field, value) {
  if (field === 'pinned') return t('pinned');
  if (field === 'kind') return kindName(value);
  return own(field === 'speaker' ? speakerName(value) : String(value));
}
