// The HTML tokeniser: tags, comments and characters, with character references decoded.
(function (drrn) {
  "use strict";

  drrn.rawText = new Set([
    "script", "style", "xmp", "iframe", "noembed", "noframes", "noscript", "plaintext",
  ]);
  const windows1252 =
    "\u20AC\u0081\u201A\u0192\u201E\u2026\u2020\u2021\u02C6\u2030\u0160\u2039\u0152\u008D\u017D\u008F" +
    "\u0090\u2018\u2019\u201C\u201D\u2022\u2013\u2014\u02DC\u2122\u0161\u203A\u0153\u009D\u017E\u0178";
  const reference = /&(?:#[xX]([0-9a-fA-F]+);?|#([0-9]+);?|([a-zA-Z][a-zA-Z0-9]*)(;?))/g;

  function characterOf(code) {
    if (code >= 0x80 && code <= 0x9f) return windows1252[code - 0x80];
    if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return "\uFFFD";
    return String.fromCodePoint(code);
  }

  /** Decodes character references; drrn.entities has their names, with and without semicolon. */
  const decode = (drrn.decode = function (text, inAttribute) {
    if (text.indexOf("&") < 0) return text;
    return text.replace(reference, (whole, hex, decimal, name, semicolon, offset) => {
      if (hex) return characterOf(parseInt(hex, 16));
      if (decimal) return characterOf(parseInt(decimal, 10));
      if (semicolon && drrn.entities[name + ";"]) return drrn.entities[name + ";"];
      for (let length = name.length; length > 1; length--) {
        const character = drrn.entities[name.slice(0, length)];
        if (!character) continue;
        const rest = whole.slice(length + 1);
        if (inAttribute && (rest !== "" ? rest !== ";" : text[offset + whole.length] === "=")) {
          return whole;
        }
        return character + rest;
      }
      return whole;
    });
  });

  const isLetter = (code) => (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
  const isSpace = (code) => code === 32 || code === 10 || code === 9 || code === 12 || code === 13;
  const noAttributes = new Map();

  /** Reads tokens one by one and passes them to a builder. */
  class Tokeniser {
    constructor(text, builder) {
      this.text = text.indexOf("\r") < 0 ? text : text.replace(/\r\n?/g, "\n");
      this.position = 0;
      this.builder = builder;
    }
    get atEnd() {
      return this.position >= this.text.length;
    }
    step() {
      const { text, position } = this;
      if (text.charCodeAt(position) !== 60) return this.characters();
      const code = text.charCodeAt(position + 1);
      if (isLetter(code)) return this.tag(position + 1, true);
      if (code === 47) {
        if (isLetter(text.charCodeAt(position + 2))) return this.tag(position + 2, false);
        if (text[position + 2] === ">") return void (this.position = position + 3);
        if (position + 2 < text.length) return this.bogusComment(position + 2);
      }
      if (code === 33) return this.declaration();
      if (code === 63) return this.bogusComment(position + 1);
      return this.characters();
    }
    characters() {
      const { text, position } = this;
      let end = text.indexOf("<", position + 1);
      if (end < 0) end = text.length;
      this.position = end;
      this.builder.characters(decode(text.slice(position, end), false));
    }
    declaration() {
      const { text, position } = this;
      if (text.startsWith("<!--", position)) {
        if (text.startsWith("<!-->", position) || text.startsWith("<!--->", position)) {
          this.position = text.indexOf(">", position) + 1;
          return this.builder.comment("");
        }
        const match = /--!?>/g;
        match.lastIndex = position + 4;
        const terminator = match.exec(text);
        const end = terminator ? terminator.index : text.length;
        this.position = terminator ? match.lastIndex : text.length;
        return this.builder.comment(text.slice(position + 4, end));
      }
      if (/^<!doctype/i.test(text.substr(position, 9))) {
        const end = this.endOf(">", position);
        this.position = end + 1;
        return this.builder.doctype(
          text.slice(position + 9, end).trim().split(/\s+/)[0].toLowerCase(),
        );
      }
      this.bogusComment(position + 2);
    }
    bogusComment(from) {
      const end = this.endOf(">", from);
      this.position = end + 1;
      this.builder.comment(this.text.slice(from, end));
    }
    endOf(what, from) {
      const end = this.text.indexOf(what, from);
      return end < 0 ? this.text.length : end;
    }
    tag(from, isStart) {
      const { text } = this;
      const length = text.length;
      let i = from;
      let code = text.charCodeAt(i);
      while (i < length && code !== 62 && code !== 47 && !isSpace(code)) {
        code = text.charCodeAt(++i);
      }
      const name = text.slice(from, i).toLowerCase();
      this.position = i;
      const attributes = code === 62 ? noAttributes : this.attributes();
      if (this.position >= length) return; // a truncated tag is ignored
      const selfClosing = text.charCodeAt(this.position - 1) === 47;
      this.position++;
      if (isStart) this.builder.startTag(name, attributes, selfClosing, this);
      else this.builder.endTag(name);
    }
    /** Reads the attributes up to ">"; the first of two attributes with the same name counts. */
    attributes() {
      const { text } = this;
      const length = text.length;
      let attributes = noAttributes;
      let i = this.position;
      for (;;) {
        let code = text.charCodeAt(i);
        while (i < length && (isSpace(code) || code === 47)) code = text.charCodeAt(++i);
        if (i >= length || code === 62) break;
        const start = i++;
        code = text.charCodeAt(i);
        while (i < length && code !== 61 && code !== 62 && code !== 47 && !isSpace(code)) {
          code = text.charCodeAt(++i);
        }
        const name = text.slice(start, i).toLowerCase();
        while (i < length && isSpace(code)) code = text.charCodeAt(++i);
        let value = "";
        if (code === 61) {
          do code = text.charCodeAt(++i);
          while (isSpace(code));
          if (code === 34 || code === 39) {
            const end = this.endOf(code === 34 ? '"' : "'", i + 1);
            value = text.slice(i + 1, end);
            i = end + 1;
          } else {
            const begin = i;
            while (i < length && code !== 62 && !isSpace(code)) code = text.charCodeAt(++i);
            value = text.slice(begin, i);
          }
          value = decode(value, true);
        }
        if (attributes === noAttributes) attributes = new Map();
        if (!attributes.has(name)) attributes.set(name, value);
      }
      this.position = i;
      return attributes;
    }
    /** The text up to the end tag of a script, a style or a text area. */
    rawUntil(name) {
      const end = new RegExp(`</${name}(?=[\\s/>])`, "gi");
      end.lastIndex = this.position;
      let match = end.exec(this.text);
      if (name === "script") match = this.pastEscapes(end, match);
      const stop = match ? match.index : this.text.length;
      const raw = this.text.slice(this.position, stop);
      this.position = match ? this.endOf(">", stop) + 1 : stop;
      return raw;
    }
    /** Within "<!-- <script>", an end tag closes only the inner script. */
    pastEscapes(end, match) {
      const from = this.position;
      while (match) {
        const before = this.text.slice(from, match.index);
        const commentStart = before.lastIndexOf("<!--");
        const inner = commentStart < 0 || before.indexOf("-->", commentStart) >= 0
          ? -1
          : before.slice(commentStart).search(/<script[\s/>]/i);
        if (inner < 0 || /<\/script[\s/>]/i.test(before.slice(commentStart + inner))) return match;
        match = end.exec(this.text);
      }
      return match;
    }
  }
  drrn.Tokeniser = Tokeniser;
})(globalThis.__drrn);
