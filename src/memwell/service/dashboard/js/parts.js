// Small builders of what pages are made of. Text goes in as text: nothing here parses HTML.

const SVG = 'http://www.w3.org/2000/svg';

// h('p', { class: 'muted', onclick: f }, 'text', node, [more], null) – children that are null or false are left out.
export function h(tag, props, ...children) {
  return filled(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) set(node, name, value);
  node.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return node;
}

function set(node, name, value) {
  if (value == null || value === false) return;
  if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
  else if (name === 'style') Object.entries(value).forEach(([key, one]) => node.style.setProperty(key, one));
  else if (name === 'data') Object.assign(node.dataset, value);
  else if (name === 'value' || name === 'checked' || name === 'selected') node[name] = value;
  else node.setAttribute(name, value === true ? '' : value);
}

export function replace(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return node;
}

export function icon(name, size = 18) {
  return svg(
    'svg',
    { class: 'icon', width: size, height: size, 'aria-hidden': 'true', focusable: 'false' },
    svg('use', { href: `#i-${name}` }),
  );
}

// { label, icon, kind: 'primary' | 'danger' | 'quiet', onclick, … }; without `text` the label is read aloud only.
export function button({ label, icon: name, kind = '', text = true, small = false, ...props }) {
  return h(
    'button',
    {
      type: 'button',
      class: ['button', kind, small && 'small', !text && 'only-icon'].filter(Boolean).join(' '),
      'aria-label': text ? null : label,
      title: text ? null : label,
      ...props,
    },
    name && icon(name, small ? 16 : 18),
    text && h('span', {}, label),
  );
}

// While the work is under way the button cannot be pressed again and says that it is busy.
export async function busy(control, work) {
  control.setAttribute('aria-busy', 'true');
  control.disabled = true;
  try {
    return await work();
  } finally {
    control.removeAttribute('aria-busy');
    control.disabled = false;
  }
}

let numbers = 0;
export function fresh(prefix = 'n') {
  numbers += 1;
  return `${prefix}-${numbers}`;
}

// A label above a control, or with `bare` one that is only read aloud; `hint` is read with it.
export function field(label, control, { hint, wide, bare } = {}) {
  control.id ||= fresh('field');
  const note = hint && h('small', { class: 'hint', id: `${control.id}-hint` }, hint);
  if (note) control.setAttribute('aria-describedby', note.id);
  return h('div', { class: `field${wide ? ' wide' : ''}` }, h('label', { for: control.id, class: bare ? 'unseen' : null }, label), control, note);
}

// One of a few: radio buttons that look like one control, so the arrow keys work by themselves.
export function choice({ label, options, value, onchange, small = false }) {
  const name = fresh('choice');
  return h(
    'fieldset',
    { class: `choice${small ? ' small' : ''}` },
    h('legend', { class: 'unseen' }, label),
    options.map(([key, text, spoken]) =>
      h(
        'label',
        {},
        h('input', {
          type: 'radio',
          name,
          value: key,
          checked: key === value,
          'aria-label': spoken,
          onchange: () => onchange(key),
        }),
        h('span', {}, text),
      ),
    ),
  );
}

// Tabs with roving focus: Tab enters at the chosen one, the arrows move on. `choose(key)` of the node follows an address.
export function tabs({ label, options, value, onchange }) {
  const bar = h('div', { class: 'tabs', role: 'tablist', 'aria-label': label });
  const choose = (key, focus) => {
    for (const tab of bar.children) {
      const chosen = tab.dataset.key === key;
      tab.setAttribute('aria-selected', chosen);
      tab.tabIndex = chosen ? 0 : -1;
      if (chosen && focus) tab.focus();
    }
  };
  options.forEach(([key, text]) =>
    bar.append(
      h(
        'button',
        { type: 'button', role: 'tab', data: { key }, onclick: () => (choose(key), onchange(key)) },
        text,
      ),
    ),
  );
  bar.addEventListener('keydown', (event) => {
    const to = roved(event, [...bar.children], 'row');
    if (to) (choose(to.dataset.key, true), onchange(to.dataset.key));
  });
  choose(value);
  bar.choose = choose;
  return bar;
}

// Which of the items an arrow key, Home or End moves to; null when the key is another.
export function roved(event, items, direction = 'column') {
  const [back, on] = direction === 'row' ? ['ArrowLeft', 'ArrowRight'] : ['ArrowUp', 'ArrowDown'];
  const at = items.indexOf(document.activeElement);
  const to = { [back]: at - 1, [on]: at + 1, Home: 0, End: items.length - 1 }[event.key];
  if (to === undefined || at < 0) return null;
  event.preventDefault();
  return items[(to + items.length) % items.length];
}

export function skeleton(lines = 3, kind = 'line') {
  return h(
    'div',
    { class: 'skeleton', 'aria-hidden': 'true' },
    Array.from({ length: lines }, () => h('div', { class: kind })),
  );
}

// An empty state that teaches: what would be here, and how it gets there.
export function empty({ icon: name, title, text, action }) {
  return h(
    'div',
    { class: 'empty' },
    h('div', { class: 'empty-icon' }, icon(name, 26)),
    h('h3', {}, title),
    h('p', {}, text),
    action,
  );
}

export function notice(kind, ...children) {
  return h('div', { class: `notice ${kind}`, role: kind === 'error' ? 'alert' : null }, icon('alert'), h('div', {}, children));
}

export function badge(text, kind = '') {
  return h('span', { class: `badge ${kind}` }, text);
}

export function table(heads, rows, { label, classes = '' } = {}) {
  return h(
    'div',
    { class: 'table-box', tabindex: 0, role: 'region', 'aria-label': label },
    h(
      'table',
      { class: classes },
      h('thead', {}, h('tr', {}, heads.map((head) => h('th', { scope: 'col' }, head)))),
      h('tbody', {}, rows.map((cells) => h('tr', {}, cells.map((cell, at) => h('td', { data: { label: heads[at] } }, cell))))),
    ),
  );
}

// A window over the page. Esc, the cross and a click beside it close it; the focus goes back to where it was.
export function dialog({ title, label, kind = 'modal', closing, onclose }, ...children) {
  const heading = h('h2', { id: fresh('title') }, title);
  const node = h(
    'dialog',
    { class: kind, 'aria-labelledby': heading.id },
    h(
      'header',
      {},
      heading,
      button({ label: closing ?? label, icon: 'close', kind: 'quiet', text: false, onclick: () => node.close() }),
    ),
    h('div', { class: 'dialog-body' }, children),
  );
  node.addEventListener('click', (event) => event.target === node && node.close());
  node.addEventListener('close', () => {
    // Messages stand in the uppermost window, since everything beside it is out of reach; they outlive it.
    const messages = node.querySelector('#toasts');
    if (messages) (document.body.append(messages), messages.childElementCount && messages.showPopover?.());
    node.remove();
    onclose?.();
  });
  document.body.append(node);
  node.showModal();
  return node;
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Not every address is allowed the clipboard; the old way needs a selection.
    const area = h('textarea', { class: 'unseen', value: text });
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}
