// The server's API: JSON over fetch.

/** An error of the server; `status` is that of its answer, 0 if it did not answer. */
export class ServerError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError("The server does not answer. Is it still running?");
  }
  if (response.ok) return response;
  let data = {};
  try {
    data = await response.json();
  } catch {
    /* not JSON */
  }
  throw new ServerError(data.error || `The server answered ${response.status}.`, response.status);
}

export async function get(path, signal) {
  return (await request(path, { signal })).json();
}

export async function text(path, signal) {
  return (await request(path, { signal })).text();
}

export async function post(path, body = {}, signal = undefined) {
  const headers = { "Content-Type": "application/json" };
  return (await request(path, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
    signal,
  })).json();
}

export async function remove(path) {
  return (await request(path, { method: "DELETE" })).json();
}

export async function upload(path, form) {
  return (await request(path, { method: "POST", body: form })).json();
}

/** Whether a request was cancelled because the user left the view. */
export function isAborted(error) {
  return error.name === "AbortError";
}

export const part = encodeURIComponent;
