// The server's API: JSON over fetch, and server-sent events.

/** An error of the server; `code` and `page` are those of its answer. */
export class ServerError extends Error {
  constructor(message, code = "", page = null) {
    super(message);
    this.code = code;
    this.page = page;
  }
}

async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError("The server does not answer. Is drrn serve still running?", "unreachable");
  }
  if (response.ok) return response;
  let data = {};
  try {
    data = await response.json();
  } catch {
    /* not JSON */
  }
  throw new ServerError(data.error || `The server answered ${response.status}.`, data.code || "", data.page || null);
}

export async function get(path, signal) {
  return (await request(path, { signal })).json();
}

export async function text(path, signal) {
  return (await request(path, { signal })).text();
}

export async function post(path, body = {}, signal = undefined) {
  const headers = { "Content-Type": "application/json" };
  return (await request(path, { method: "POST", headers, body: JSON.stringify(body), signal })).json();
}

export async function remove(path) {
  return (await request(path, { method: "DELETE" })).json();
}

export async function upload(path, form) {
  return (await request(path, { method: "POST", body: form })).json();
}

/** Listen to events until the signal is aborted or a handler returns true. */
export function listen(path, handlers, signal) {
  const source = new EventSource(path);
  for (const [name, handler] of Object.entries(handlers)) {
    if (name === "error") continue;
    source.addEventListener(name, (event) => {
      if (handler(JSON.parse(event.data))) source.close();
    });
  }
  source.addEventListener("error", () => handlers.error?.(source.readyState === EventSource.CLOSED));
  signal?.addEventListener("abort", () => source.close(), { once: true });
  return source;
}

/** Whether a request was cancelled because the user left the view. */
export function isAborted(error) {
  return error.name === "AbortError";
}

export const part = encodeURIComponent;
