// Addresses and encodings: URL, URLSearchParams, base 64 and UTF-8.
(function (drrn) {
  "use strict";

  const decodeForm = (text) => {
    try {
      return decodeURIComponent(text.replace(/\+/g, " "));
    } catch {
      return text;
    }
  };
  const encodeForm = (text) =>
    encodeURIComponent(text)
      .replace(/%20/g, "+")
      .replace(/[!'()~]/g, (char) => "%" + char.charCodeAt(0).toString(16).toUpperCase());

  class URLSearchParams {
    constructor(init = "", onChange = null) {
      Object.defineProperty(this, "pairs", { value: [] });
      Object.defineProperty(this, "onChange", { value: onChange });
      if (typeof init === "object" && init !== null) {
        const isIterable = typeof init[Symbol.iterator] === "function";
        for (const [key, value] of isIterable ? init : Object.entries(init)) {
          this.pairs.push([String(key), String(value)]);
        }
      } else {
        for (const piece of String(init).replace(/^\?/, "").split("&")) {
          if (piece === "") continue;
          const separator = piece.indexOf("=");
          this.pairs.push(
            separator < 0
              ? [decodeForm(piece), ""]
              : [decodeForm(piece.slice(0, separator)), decodeForm(piece.slice(separator + 1))],
          );
        }
      }
    }
    get size() {
      return this.pairs.length;
    }
    get(key) {
      return this.pairs.find((pair) => pair[0] === key)?.[1] ?? null;
    }
    getAll(key) {
      return this.pairs.filter((pair) => pair[0] === key).map((pair) => pair[1]);
    }
    has(key) {
      return this.pairs.some((pair) => pair[0] === key);
    }
    append(key, value) {
      this.pairs.push([String(key), String(value)]);
      this.onChange?.(this);
    }
    set(key, value) {
      this.delete(key);
      this.append(key, value);
    }
    delete(key) {
      for (let i = this.pairs.length - 1; i >= 0; i--) {
        if (this.pairs[i][0] === key) this.pairs.splice(i, 1);
      }
      this.onChange?.(this);
    }
    sort() {
      this.pairs.sort((one, other) => (one[0] < other[0] ? -1 : one[0] > other[0] ? 1 : 0));
    }
    forEach(callback) {
      for (const [key, value] of this.pairs) callback(value, key, this);
    }
    keys() {
      return this.pairs.map((pair) => pair[0]).values();
    }
    values() {
      return this.pairs.map((pair) => pair[1]).values();
    }
    entries() {
      return this.pairs.map((pair) => [...pair]).values();
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    toString() {
      return this.pairs.map(([key, value]) => `${encodeForm(key)}=${encodeForm(value)}`).join("&");
    }
  }
  drrn.expose("URLSearchParams", URLSearchParams);

  const absolute =
    /^([a-z][a-z0-9+.-]*:)(?:\/\/(?:([^@/?#]*)@)?([^:/?#]*)(?::(\d+))?)?([^?#]*)(\?[^#]*)?(#.*)?$/i;

  function withoutDots(path) {
    const parts = [];
    for (const part of path.split("/")) {
      if (part === "..") parts.length > 1 && parts.pop();
      else if (part !== ".") parts.push(part);
    }
    if (/(?:^|\/)\.\.?$/.test(path)) parts.push("");
    return parts.join("/");
  }
  /** Resolve a relative address. */
  function resolveAgainst(address, base) {
    if (/^[a-z][a-z0-9+.-]*:/i.test(address)) return address;
    const [, protocol, , host, port, path, query] = absolute.exec(base);
    const root = `${protocol}//${host}${port ? ":" + port : ""}`;
    if (address.startsWith("//")) return protocol + address;
    if (address.startsWith("#")) return base.split("#")[0] + address;
    if (address.startsWith("?")) return root + path + address;
    if (address === "") return root + path + (query ?? "");
    return root +
      withoutDots(address.startsWith("/") ? address : path.replace(/[^/]*$/, "") + address);
  }

  class URL {
    constructor(address, base) {
      const match = absolute.exec(
        base === undefined
          ? String(address).trim()
          : resolveAgainst(String(address).trim(), String(base)),
      );
      if (!match) throw new TypeError(`Failed to construct 'URL': Invalid URL`);
      const [, protocol, user = "", hostname = "", port = "", path, search = "", hash = ""] = match;
      const web = /^(?:https?|ftp|wss?):$/i.test(protocol);
      this.protocol = protocol.toLowerCase();
      [this.username, this.password = ""] = user.split(":");
      this.hostname = hostname.toLowerCase();
      this.port = port === { "http:": "80", "https:": "443" }[this.protocol] ? "" : port;
      this.pathname = encodeURI(decodeSafely(web && path === "" ? "/" : path));
      this.searchParams = new URLSearchParams(search, (params) =>
        (this.query = params.size ? "?" + params : ""),
      );
      this.query = search === "?" ? "" : search.replace(/ /g, "%20");
      this.fragment = hash === "#" ? "" : hash.replace(/ /g, "%20");
    }
    get search() {
      return this.query;
    }
    set search(text) {
      this.query = text === "" ? "" : "?" + String(text).replace(/^\?/, "");
    }
    get hash() {
      return this.fragment;
    }
    set hash(text) {
      this.fragment = text === "" || text === "#"
        ? ""
        : "#" + String(text).replace(/^#/, "").replace(/ /g, "%20");
    }
    get host() {
      return this.hostname + (this.port ? ":" + this.port : "");
    }
    get origin() {
      return this.hostname ? `${this.protocol}//${this.host}` : "null";
    }
    get href() {
      const user = this.username
        ? this.username + (this.password ? ":" + this.password : "") + "@"
        : "";
      return `${this.protocol}${this.hostname || this.protocol === "file:" ? "//" : ""}${user}${this.host}${this.pathname}${this.query}${this.fragment}`;
    }
    toString() {
      return this.href;
    }
    toJSON() {
      return this.href;
    }
    static canParse(address, base) {
      try {
        return !!new URL(address, base);
      } catch {
        return false;
      }
    }
    static createObjectURL() {
      return "blob:https://story.invalid/0";
    }
    static revokeObjectURL() {}
  }
  function decodeSafely(text) {
    try {
      return decodeURI(text);
    } catch {
      return text;
    }
  }
  drrn.expose("URL", URL);
  drrn.expose("webkitURL", URL);
  drrn.resolve = (address) => {
    try {
      return new URL(address, globalThis.location.href).href;
    } catch {
      return address;
    }
  };

  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  drrn.expose("btoa", (text) => {
    const bytes = String(text);
    if (/[^\0-\xFF]/.test(bytes)) {
      throw new DOMException(
        "The string to be encoded contains characters outside of the Latin1 range.",
        "InvalidCharacterError",
      );
    }
    let encoding = "";
    for (let i = 0; i < bytes.length; i += 3) {
      const a = bytes.charCodeAt(i);
      const b = bytes.charCodeAt(i + 1);
      const c = bytes.charCodeAt(i + 2);
      encoding += letters[a >> 2] + letters[((a & 3) << 4) | (b >> 4)];
      encoding += isNaN(b)
        ? "=="
        : letters[((b & 15) << 2) | (c >> 6)] + (isNaN(c) ? "=" : letters[c & 63]);
    }
    return encoding;
  });
  drrn.expose("atob", (text) => {
    const clean = String(text).replace(/[ \t\n\f\r]/g, "").replace(/={1,2}$/, "");
    if (/[^A-Za-z0-9+/]/.test(clean) || clean.length % 4 === 1) {
      throw new DOMException(
        "The string to be decoded is not correctly encoded.",
        "InvalidCharacterError",
      );
    }
    let decoding = "";
    for (let i = 0, bits = 0; i < clean.length; i++) {
      bits = (bits << 6) | letters.indexOf(clean[i]);
      if (i % 4) decoding += String.fromCharCode((bits >> ((3 - (i % 4)) * 2)) & 255);
      if (i % 4 === 3) bits = 0;
    }
    return decoding;
  });

  class TextEncoder {
    get encoding() {
      return "utf-8";
    }
    encode(text = "") {
      const uri = encodeURIComponent(String(text).toWellFormed());
      const bytes = [];
      for (let i = 0; i < uri.length; i++) {
        if (uri[i] !== "%") bytes.push(uri.charCodeAt(i));
        else bytes.push(parseInt(uri.slice(i + 1, (i += 2) + 1), 16));
      }
      return new Uint8Array(bytes);
    }
  }
  class TextDecoder {
    get encoding() {
      return "utf-8";
    }
    decode(buffer = new Uint8Array()) {
      const bytes = ArrayBuffer.isView(buffer)
        ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
        : new Uint8Array(buffer);
      let text = "";
      for (const byte of bytes) text += "%" + byte.toString(16).padStart(2, "0");
      try {
        return decodeURIComponent(text);
      } catch {
        return String.fromCharCode(...bytes);
      }
    }
  }
  drrn.expose("TextEncoder", TextEncoder);
  drrn.expose("TextDecoder", TextDecoder);
})(globalThis.__drrn);
