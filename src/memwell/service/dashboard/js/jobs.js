// Work that takes a while: files are sent with their progress, and jobs are followed until they end.
import { Problem, address, path, refused, session } from './api.js';
import { speaking } from './language.js';
import { h, icon, replace } from './parts.js';
import { problem } from './shell.js';
import { own, progress } from './more.js';
import words from './words/more.js';

const t = speaking(words);
const FIRST_MS = 250;
const SLOWEST_MS = 2000;

// fetch does not tell how much has been sent, so this is the older way.
export function sent(where, query, file, { onprogress = () => {}, signal } = {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', address(where, query));
    request.responseType = 'text';
    request.setRequestHeader('Authorization', `Bearer ${session.key ?? ''}`);
    request.setRequestHeader('Content-Type', 'application/octet-stream');
    request.upload.addEventListener('progress', (event) => event.lengthComputable && onprogress(event.loaded / event.total));
    request.addEventListener('load', () => {
      const told = read(request.responseText);
      if (request.status < 300) return resolve(told);
      const found = new Problem({ code: 'internal', request: request.getResponseHeader('x-request-id') ?? '', ...told, status: request.status });
      if (found.status === 401) refused.then(found);
      return reject(found);
    });
    request.addEventListener('error', () => reject(new Problem({})));
    request.addEventListener('abort', () => reject(new DOMException('left', 'AbortError')));
    signal?.addEventListener('abort', () => request.abort());
    request.send(file);
  });
}

function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

// Ask for a job until it has ended. Gives the job when it is done, and throws its problem when it failed.
export async function followed(app, job, ontold = () => {}) {
  let wait = FIRST_MS;
  let now = job;
  for (;;) {
    ontold(now);
    if (now.status === 'done') return now;
    if (now.status === 'failed') throw new Problem({ code: 'internal', ...(now.problem ?? {}) });
    await pause(wait, app.signal);
    wait = Math.min(wait * 1.4, SLOWEST_MS);
    now = await app.api.get(path`/v1/jobs/${job.id}`, {}, app.signal);
  }
}

function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => (clearTimeout(timer), reject(new DOMException('left', 'AbortError'))));
  });
}

// How far a job is, in words and as a share where its end is known.
export function far(job) {
  const stage = job.status === 'waiting' ? 'waiting' : job.stage || 'running';
  const name = `stage.${stage}` in words.en ? t(`stage.${stage}`) : stage;
  const count = job.of ? t('stage.of', { name, done: job.done, of: job.of }) : job.done ? t('stage.done', { name, done: job.done }) : name;
  return { text: count, share: job.of ? job.done / job.of : null };
}

// A line that shows a file on its way in: { node, sending(share), working(job), done(text), refused(text), failed(error) }.
export function line(name) {
  const status = h('span', { class: 'muted small' }, '');
  const bar = h('div', {});
  const more = h('div', {});
  const node = h('li', { class: 'upload', data: { state: 'sending' } }, icon('file'), h('div', { class: 'grow' }, h('div', { class: 'row between' }, own(name), status), bar, more));
  const tell = (state, text, share) => {
    node.dataset.state = state;
    status.textContent = text;
    replace(bar, state !== 'done' && state !== 'failed' && progress(share, `${name}: ${text}`));
  };
  return {
    node,
    sending: (share) => tell('sending', t('sending', { percent: Math.round(100 * share) }), share),
    working: (job) => tell('working', far(job).text, far(job).share),
    done: (text) => tell('done', text),
    // For what is seen to be wrong before anything is sent.
    refused: (text) => {
      tell('failed', t('failed'));
      replace(more, h('p', { class: 'small' }, text));
    },
    failed: (error) => {
      tell('failed', t('failed'));
      replace(more, problem(error));
    },
  };
}

// A place to drop files on, with a button for everybody else.
export function dropZone(app, { title, hint, label, accept, multiple = true, onfiles }) {
  const input = h('input', { type: 'file', class: 'unseen', accept, multiple, tabindex: -1, 'aria-label': label, disabled: !app.can('write') });
  const open = app.gated(h('button', { type: 'button', class: 'button primary', onclick: () => input.click() }, icon('upload'), h('span', {}, label)), 'write');
  const zone = h('div', { class: 'drop' }, icon('upload', 26), h('h2', {}, title), h('p', { class: 'muted' }, hint), open, app.lacking('write'), input);
  const may = !open.disabled;
  input.addEventListener('change', () => (onfiles([...input.files]), (input.value = '')));
  // Also where nothing may be dropped: the browser would leave the page to show the file.
  const over = (on) => (event) => (event.preventDefault(), zone.classList.toggle('over', on && may));
  zone.addEventListener('dragover', over(true));
  zone.addEventListener('dragleave', over(false));
  zone.addEventListener('drop', (event) => {
    over(false)(event);
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length && may) onfiles(multiple ? files : files.slice(0, 1));
  });
  return zone;
}
