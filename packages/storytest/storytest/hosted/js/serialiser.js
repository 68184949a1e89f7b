// Markup from nodes: innerHTML and outerHTML.
(function (drrn) {
  "use strict";

  const inText = /[&\u00A0<>]/g;
  const names = { "&": "&amp;", "\u00A0": "&nbsp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  const escapeText = (text) => (text.replace(inText, (char) => names[char]));
  const escapeValue = (text) => text.replace(/[&\u00A0"<>]/g, (char) => names[char]);
  const asIs = new Set([
    "style", "script", "xmp", "iframe", "noembed", "noframes", "plaintext", "noscript",
  ]);

  function children(node) {
    let markup = "";
    const from = node.localName === "template" && node.content ? node.content : node;
    for (let child = from.firstChild; child; child = child.nextSibling) markup += outer(child);
    return markup;
  }

  function outer(node) {
    if (node.nodeType === 3) {
      return node.parentNode && asIs.has(node.parentNode.localName)
        ? node.data
        : escapeText(node.data);
    }
    if (node.nodeType === 8) return `<!--${node.data}-->`;
    if (node.nodeType === 10) return `<!DOCTYPE ${node.name}>`;
    if (node.nodeType !== 1) return children(node);
    const name = node.localName;
    let markup = "<" + name;
    for (const [key, value] of node.attributeMap) markup += ` ${key}="${escapeValue(value)}"`;
    if (drrn.voids.has(name)) return markup + ">";
    return `${markup}>${children(node)}</${name}>`;
  }

  drrn.serialise = (node, withItself) => (withItself ? outer(node) : children(node));

  class XMLSerializer {
    serializeToString(node) {
      return outer(node);
    }
  }
  drrn.expose("XMLSerializer", XMLSerializer);
})(globalThis.__drrn);
