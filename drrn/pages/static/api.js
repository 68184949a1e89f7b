// The server's interface: JSON over fetch, and events.

/** What the server said in its own words; `code` and `page` are as it sent them. */
export class ServerError extends Error {
  constructor(message, code = "", page = null) {
    super(message);
    this.code = code;
    this.page = page;
  }
}

async function answered(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError("The server does not answer: is drrn serve still running?", "unreachable");
  }
  if (response.ok) return response;
  let told = {};
  try {
    told = await response.json();
  } catch {
    /* no JSON: said below */
  }
  throw new ServerError(told.error || `The server answered ${response.status}.`, told.code || "", told.page || null);
}

export async function get(path, signal) {
  return (await answered(path, { signal })).json();
}

export async function text(path, signal) {
  return (await answered(path, { signal })).text();
}

export async function post(path, body = {}, signal = undefined) {
  const headers = { "Content-Type": "application/json" };
  return (await answered(path, { method: "POST", headers, body: JSON.stringify(body), signal })).json();
}

export async function remove(path) {
  return (await answered(path, { method: "DELETE" })).json();
}

export async function upload(path, form) {
  return (await answered(path, { method: "POST", body: form })).json();
}

/** Listen to events until the signal says that nobody looks any more, or one handler returns true. */
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

/** Nobody looks any more: not an error to be told. */
export function left(error) {
  return error.name === "AbortError";
}

export const part = encodeURIComponent;
