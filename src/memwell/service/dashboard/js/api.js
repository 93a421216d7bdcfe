// Everything the dashboard asks the service goes through here: with the key, and with problems as sentences.
import { speaking } from './language.js';
import words from './words/shell.js';

const t = speaking(words);
const KEPT = 'memwell.key';
const VISITED = 'memwell.space';
// As in the library: memories that are less relevant to a question are shown only when they are asked for.
export const MIN_RELEVANCE = 0.005;

export class Problem extends Error {
  constructor({ status = 0, code = 'unreachable', title = '', detail = '', request = '', retry_after: wait = null }) {
    super(detail || title || code);
    Object.assign(this, { status, code, title, detail, request, wait });
  }
}

export const session = {
  // When storage is not allowed, the key lives as long as the page.
  held: null,
  get key() {
    try {
      return sessionStorage.getItem(KEPT) ?? localStorage.getItem(KEPT) ?? this.held;
    } catch {
      return this.held;
    }
  },
  set key(value) {
    this.held = value;
    try {
      if (value) sessionStorage.setItem(KEPT, value);
      else sessionStorage.removeItem(KEPT);
      if (!value) localStorage.removeItem(KEPT);
    } catch {
      // It is held above.
    }
    if (!value) this.space = null;
  },
  // The segments of the space that is looked into; null in the key's own. Every request names it.
  visited: null,
  get space() {
    try {
      return JSON.parse(sessionStorage.getItem(VISITED)) ?? this.visited;
    } catch {
      return this.visited;
    }
  },
  set space(segments) {
    this.visited = segments;
    try {
      if (segments) sessionStorage.setItem(VISITED, JSON.stringify(segments));
      else sessionStorage.removeItem(VISITED);
    } catch {
      // It is held above.
    }
  },
};

// Keep the key when the tab closes, for other tabs too, until somebody signs out.
// With `again` only where one was kept before.
export function keepOnDevice({ again = false } = {}) {
  try {
    if (session.key && (!again || localStorage.getItem(KEPT))) localStorage.setItem(KEPT, session.key);
  } catch {
    // A browser that keeps nothing asks again in the next tab.
  }
}

// Called when the service does not know the key any more.
export const refused = { then: () => {} };

// path`/v1/memories/${id}/pin`: what is put in becomes one segment, whatever it contains.
export function path(texts, ...values) {
  return texts.reduce((whole, text, at) => whole + encodeURIComponent(values[at - 1]) + text);
}

export function address(where, query = {}) {
  const url = new URL(where.replace(/^\//, ''), document.baseURI);
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one != null && one !== '') url.searchParams.append(name, one);
    }
  }
  return url;
}

async function send(method, where, { query, body, file, signal } = {}) {
  // What a person looks at here must not count as use: the service does not, for requests with this header.
  const headers = { Accept: 'application/json', Authorization: `Bearer ${session.key ?? ''}`, 'X-Memwell-Page': '1' };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (file) headers['Content-Type'] = 'application/octet-stream';
  let answer;
  try {
    answer = await fetch(address(where, session.space ? { ...query, space: session.space } : query), {
      method,
      headers,
      signal,
      body: file ?? (body === undefined ? undefined : JSON.stringify(body)),
      credentials: 'omit',
      cache: 'no-store',
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Problem({});
  }
  if (answer.ok) return answer;
  throw await problemOf(answer);
}

async function problemOf(answer) {
  const told = await answer.json().catch(() => ({}));
  const problem = new Problem({
    code: 'internal',
    request: answer.headers.get('x-request-id') ?? '',
    ...told,
    status: answer.status,
  });
  // A link that was used already says nothing of the key.
  if (answer.status === 401 && !answer.url.endsWith('/v1/sign-in')) refused.then(problem);
  return problem;
}

async function json(method, where, options) {
  return (await send(method, where, options)).json();
}

export const api = {
  get: (where, query, signal) => json('GET', where, { query, signal }),
  post: (where, body = {}, signal) => json('POST', where, { body, signal }),
  // For routes that take nothing: a body, even an empty one, would be a field nobody asked for.
  act: (where, signal) => json('POST', where, { signal }),
  put: (where, body, signal) => json('PUT', where, { body, signal }),
  patch: (where, body, signal) => json('PATCH', where, { body, signal }),
  delete: (where, query, signal) => json('DELETE', where, { query, signal }),
  upload: (where, query, file, signal) => json('POST', where, { query, file, signal }),
  blob: async (where, query, signal) => (await send('GET', where, { query, signal })).blob(),
  stream: (where, query, signal) => send('GET', where, { query, signal }),
};

// A problem as sentences for people: what happened in their language, the service's own words, and the request's number.
export function told(error) {
  if (!(error instanceof Problem)) {
    console.error(error);
    return { text: t('problem.page'), detail: String(error?.message ?? error), request: '' };
  }
  const known = `problem.${error.code}` in words.en;
  const text = known ? t(`problem.${error.code}`, { seconds: Math.ceil(error.wait ?? 1) }) : error.title || t('problem.internal');
  return { text, detail: error.detail, request: error.request };
}
